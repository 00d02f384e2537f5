"$LCSM" hepl
