"$LCSM" --version
"$LCSM" version
"$LCSM" --version --json | grep -o "\"version\": \"[0-9.]*\"\|\"static\"\|\"instruction_sets\""
