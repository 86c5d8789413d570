#!/bin/sh
# Plays any game by the first legal move. A move is a map without maps in it, so it ends at the first brace that closes.
#
#   arena-bot pipe --game nim -- docs/examples/legal.sh
while read -r line; do
  case $line in
    '{"type":"turn",'*)
      moves=${line#*'"legal":['}
      echo "${moves%%\}*}}"
      ;;
  esac
done
