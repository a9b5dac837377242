// The syntax of Ouro, which is Python 3.11's, in a form that one token of look-ahead decides everywhere: ANTLR compiles
// such decisions to switches, so no prediction automaton is ever built and the first parse is as fast as the next.
//
// What makes that possible:
//   - operators are flat lists (`disjunction`, `arith`); precedence is a table in frontend/build_expr.cpp;
//   - lists are `x (',' x?)*`; the builder refuses `,,`;
//   - some rules accept more than Python (any expression as a target or a keyword's name); the builder refuses the rest
//     with CPython's message, which the grammar could not word;
//   - soft keywords, `not in`, `is not` and the bracket of `with (… as …)` are told apart by indent_lexer.cpp.
// Constructs that Ouro refuses (async, type statements, except*) are parsed here so that the refusal can name them.
// A rule added here is added to OURO_RULES in tree.h too.
parser grammar OuroParser;

options { tokenVocab = OuroLexer; superClass = TreeParser; }
@postinclude {
#include "grammar/tree_parser.h"
}

file_input : stmt* EOF ;
eval_input : test_list NEWLINE? EOF ;
fstring_input : (yield_expr | named_item (comp_for+ | (COMMA named_item?)*)) EOF ;

stmt
  : simple_stmts | if_stmt | while_stmt | for_stmt | try_stmt | with_stmt | func_def | class_def | decorated | async_stmt
  | match_stmt ;

suite : simple_stmts | NEWLINE INDENT stmt+ DEDENT ;

// ---- simple statements ------------------------------------------------------------------------------------------------

simple_stmts : simple_stmt (SEMI simple_stmt?)* NEWLINE ;

simple_stmt
  : expr_stmt | PASS | BREAK | CONTINUE | return_stmt | raise_stmt | import_name | import_from | global_stmt | del_stmt
  | assert_stmt | type_stmt ;

expr_stmt
  : assigned ( COLON test (EQUAL assigned)?
             | (PLUSEQUAL | MINEQUAL | STAREQUAL | SLASHEQUAL | PERCENTEQUAL | AMPEREQUAL | VBAREQUAL | CIRCUMFLEXEQUAL
               | LEFTSHIFTEQUAL | RIGHTSHIFTEQUAL | DOUBLESTAREQUAL | DOUBLESLASHEQUAL | ATEQUAL) assigned
             | (EQUAL assigned)* ) ;
assigned : yield_expr | star_list ;

return_stmt : RETURN star_list? ;
raise_stmt : RAISE (test (FROM test)?)? ;
global_stmt : (GLOBAL | NONLOCAL) NAME (COMMA NAME)* ;
del_stmt : DEL star_list ;
assert_stmt : ASSERT test (COMMA test)? ;
type_stmt : TYPE NAME (LSQB type_params RSQB)? EQUAL test ;
type_params : (STAR | DOUBLESTAR)? NAME (COLON test)? (COMMA ((STAR | DOUBLESTAR)? NAME (COLON test)?)?)* ;

import_name : IMPORT dotted_as (COMMA dotted_as)* ;
dotted_as : dotted_name (AS NAME)? ;
dotted_name : NAME (DOT NAME)* ;
import_from : FROM (DOT | ELLIPSIS)* dotted_name? IMPORT (STAR | LPAR import_names RPAR | import_names) ;
import_names : import_as (COMMA import_as?)* ;
import_as : NAME (AS NAME)? ;

// ---- compound statements ----------------------------------------------------------------------------------------------

if_stmt : IF named_test COLON suite (ELIF named_test COLON suite)* else_part? ;
else_part : ELSE COLON suite ;
while_stmt : WHILE named_test COLON suite else_part? ;
for_stmt : FOR target_list IN star_list COLON suite else_part? ;
target_list : target (COMMA target?)* ;
target : STAR? arith ;

try_stmt : TRY COLON suite (except_part+ else_part? finally_part? | finally_part) ;
except_part : EXCEPT STAR? (test (AS NAME)?)? COLON suite ;
finally_part : FINALLY COLON suite ;

with_stmt : WITH (WITH_LPAR with_item (COMMA with_item?)* RPAR | with_item (COMMA with_item)*) COLON suite ;
with_item : test (AS target)? ;

decorated : decorator+ (func_def | class_def | async_stmt) ;
decorator : AT named_test NEWLINE ;
async_stmt : ASYNC (func_def | with_stmt | for_stmt) ;
func_def : DEF NAME LPAR params? RPAR (ARROW test)? COLON suite ;
class_def : CLASS NAME (LPAR args? RPAR)? COLON suite ;

params : param (COMMA param?)* ;
param
  : NAME (COLON test)? (EQUAL test)?
  | STAR (NAME (COLON star_test)? (EQUAL test)?)?
  | DOUBLESTAR NAME (COLON test)? (EQUAL test)?
  | SLASH ;
star_test : STAR arith | test ;

lambda_params : lambda_param (COMMA lambda_param?)* ;
lambda_param : NAME (EQUAL test)? | STAR (NAME (EQUAL test)?)? | DOUBLESTAR NAME (EQUAL test)? | SLASH ;

// ---- match ------------------------------------------------------------------------------------------------------------

match_stmt : MATCH named_list COLON NEWLINE INDENT case_block+ DEDENT ;
case_block : CASE pattern_list (IF named_test)? COLON suite ;
pattern_list : pattern_item (COMMA pattern_item?)* ;
pattern_item : STAR NAME | pattern ;
pattern : or_pattern (AS arith)? ;
or_pattern : closed_pattern (VBAR closed_pattern)* ;
closed_pattern
  : MINUS? NUMBER ((PLUS | MINUS) NUMBER)?
  | STRING+
  | NONE | TRUE | FALSE
  | NAME (DOT NAME)* (LPAR pattern_args? RPAR)?
  | LPAR pattern_list? RPAR
  | LSQB pattern_list? RSQB
  | LBRACE (pattern_entry (COMMA pattern_entry?)*)? RBRACE ;
pattern_args : pattern_arg (COMMA pattern_arg?)* ;
pattern_arg : pattern (EQUAL pattern)? ;
pattern_entry : DOUBLESTAR NAME | closed_pattern COLON pattern ;

// ---- expressions ------------------------------------------------------------------------------------------------------

star_list : star_item (COMMA star_item?)* ;
star_item : STAR arith | test ;
named_list : named_item (COMMA named_item?)* ;
named_item : STAR arith | test (COLONEQUAL test)? ;
test_list : test (COMMA test?)* ;
named_test : test (COLONEQUAL test)? ;

test : disjunction (IF disjunction ELSE test)? | LAMBDA lambda_params? COLON test ;

disjunction
  : (NOT | MINUS | PLUS | TILDE | AWAIT)* primary
    ( (OR | AND | LESS | GREATER | LESSEQUAL | GREATEREQUAL | EQEQUAL | NOTEQUAL | IN | NOT_IN | IS | IS_NOT | VBAR
      | CIRCUMFLEX | AMPER | LSHIFT | RSHIFT | PLUS | MINUS | STAR | SLASH | DOUBLESLASH | PERCENT | AT | DOUBLESTAR)
      (NOT | MINUS | PLUS | TILDE | AWAIT)* primary )* ;

arith
  : (MINUS | PLUS | TILDE | AWAIT)* primary
    ( (VBAR | CIRCUMFLEX | AMPER | LSHIFT | RSHIFT | PLUS | MINUS | STAR | SLASH | DOUBLESLASH | PERCENT | AT | DOUBLESTAR)
      (MINUS | PLUS | TILDE | AWAIT)* primary )* ;

primary
  : (NAME | NUMBER | STRING+ | NONE | TRUE | FALSE | ELLIPSIS | paren | bracket | brace)
    (LPAR args? RPAR | LSQB subscripts RSQB | DOT NAME)* ;

paren : LPAR (yield_expr | named_item (comp_for+ | (COMMA named_item?)*))? RPAR ;
bracket : LSQB (named_item (comp_for+ | (COMMA named_item?)*))? RSQB ;
brace : LBRACE (brace_item (comp_for+ | (COMMA brace_item?)*))? RBRACE ;
brace_item : DOUBLESTAR arith | STAR arith | test (COLON test | COLONEQUAL test)? ;
comp_for : ASYNC? FOR target_list IN disjunction (IF disjunction)* ;

args : arg (COMMA arg?)* ;
arg : STAR test | DOUBLESTAR test | test (COLONEQUAL test | EQUAL test | comp_for+)? ;
subscripts : subscript (COMMA subscript?)* ;
subscript : STAR arith | test (COLONEQUAL test | slice_rest)? | slice_rest ;
slice_rest : COLON test? (COLON test?)? ;

yield_expr : YIELD (FROM test | star_list)? ;
