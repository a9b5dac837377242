# cmake -DFILE=OuroParser.cpp -P DropParserTables.cmake
#
# The grammar is LL(1): the generated parser decides everything by the next token and never asks
# ANTLR's prediction, so the automaton it would build before main() (a third of a program's start)
# is never read. This takes its initialiser out, and fails when the grammar stops being LL(1).
file(READ ${FILE} text)
string(FIND "${text}" "adaptivePredict" at)
if(NOT at EQUAL -1)
  message(FATAL_ERROR "${FILE}: a decision of the grammar needs more than one token")
endif()
set(line "\nOuroParser::Initializer OuroParser::_init;")
string(FIND "${text}" "${line}" at)
if(at EQUAL -1)
  message(FATAL_ERROR "${FILE}: no static initialiser found")
endif()
string(REPLACE "${line}" "" text "${text}")
file(WRITE ${FILE} "${text}")
