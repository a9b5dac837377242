// Raw tokens of Ouro: what one longest match can tell. What needs memory is added by indent_lexer.cpp: keywords (a table,
// so that the automaton stays small and its first run fast), NEWLINE, INDENT, DEDENT, bracket depth, soft keywords.
//
// The lexer reads bytes, not characters. Every byte of a multi-byte character is shown to it as \u007F (raw_lexer.cpp), so
// a name may hold any; indent_lexer.cpp then checks them against Unicode's XID tables, as CPython's tokenizer does.
//
// No match fails: what fits nothing else is BAD_CHAR, an open string is OPEN_STRING, and both become errors later.
lexer grammar OuroLexer;

tokens {
  NEWLINE, INDENT, DEDENT, ERROR,
  FALSE, NONE, TRUE, AND, AS, ASSERT, ASYNC, AWAIT, BREAK, CLASS, CONTINUE, DEF, DEL, ELIF, ELSE, EXCEPT, FINALLY, FOR,
  FROM, GLOBAL, IF, IMPORT, IN, IS, LAMBDA, NONLOCAL, NOT, OR, PASS, RAISE, RETURN, TRY, WHILE, WITH, YIELD,
  MATCH, CASE, TYPE,     // soft keywords, where the context makes them keywords
  IS_NOT, NOT_IN,        // two words, one operator
  WITH_LPAR              // the bracket of `with (a as b, c as d):`
}

NAME : [a-zA-Z_\u007F] [a-zA-Z0-9_\u007F]* ;

NUMBER
  : DIGITS ('.' DIGITS?)? EXPONENT? [jJ]?
  | '.' DIGITS EXPONENT? [jJ]?
  | '0' [xX] ('_'? [0-9a-fA-F])+
  | '0' [oO] ('_'? [0-7])+
  | '0' [bB] ('_'? [01])+
  ;

STRING : PREFIX? (SHORT_1 '\'' | SHORT_2 '"' | LONG_1 '\'\'\'' | LONG_2 '"""') ;
OPEN_STRING : PREFIX? (SHORT_1 | SHORT_2 | LONG_1 '\''? '\''? | LONG_2 '"'? '"'?) '\\'? ;

LPAR : '(' ; RPAR : ')' ; LSQB : '[' ; RSQB : ']' ; LBRACE : '{' ; RBRACE : '}' ;
COMMA : ',' ; COLON : ':' ; SEMI : ';' ; DOT : '.' ; ELLIPSIS : '...' ; ARROW : '->' ;
EQUAL : '=' ; COLONEQUAL : ':=' ;
PLUS : '+' ; MINUS : '-' ; STAR : '*' ; DOUBLESTAR : '**' ; SLASH : '/' ; DOUBLESLASH : '//' ; PERCENT : '%' ; AT : '@' ;
LSHIFT : '<<' ; RSHIFT : '>>' ; AMPER : '&' ; VBAR : '|' ; CIRCUMFLEX : '^' ; TILDE : '~' ;
LESS : '<' ; GREATER : '>' ; LESSEQUAL : '<=' ; GREATEREQUAL : '>=' ; EQEQUAL : '==' ; NOTEQUAL : '!=' ;
PLUSEQUAL : '+=' ; MINEQUAL : '-=' ; STAREQUAL : '*=' ; SLASHEQUAL : '/=' ; PERCENTEQUAL : '%=' ; AMPEREQUAL : '&=' ;
VBAREQUAL : '|=' ; CIRCUMFLEXEQUAL : '^=' ; LEFTSHIFTEQUAL : '<<=' ; RIGHTSHIFTEQUAL : '>>=' ; DOUBLESTAREQUAL : '**=' ;
DOUBLESLASHEQUAL : '//=' ; ATEQUAL : '@=' ;

BLANK : [ \t\f]+ ;
COMMENT : '#' ~[\n]* ;
LINE_END : '\n' ;
JOIN : '\\' '\n' ;
BAD_CHAR : '<>' | . ;

fragment DIGITS : [0-9] ('_'? [0-9])* ;
fragment EXPONENT : [eE] [+-]? DIGITS ;
fragment PREFIX : [rR] [bBfF]? | [bB] [rR]? | [fF] [rR]? | [uU] ;
fragment SHORT_1 : '\'' (~['\\\n] | '\\' .)* ;
fragment SHORT_2 : '"' (~["\\\n] | '\\' .)* ;
fragment LONG_1 : '\'\'\'' ('\''? '\''? (~['\\] | '\\' .))* ;
fragment LONG_2 : '"""' ('"'? '"'? (~["\\] | '\\' .))* ;
