#!/bin/sh
# Reads the event on stdin. Exit 2 blocks, and stderr is the reason the model gets.
event=$(cat)

case $event in
  *'rm -rf /'* | *'rm -rf ~'*)
    echo "this would delete far more than the project; name the folder you mean" >&2
    exit 2
    ;;
  *'| sh"'* | *'| bash"'*)
    echo '{"decision": "ask", "reason": "it runs a script from the network"}'
    ;;
esac
