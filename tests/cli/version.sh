"$LCSM" --version
"$LCSM" version
