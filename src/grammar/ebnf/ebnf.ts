// The front end of EBNF: the W3C's notation (::=, /* comments */, #x20, A - B) and llama.cpp's GBNF (# comments, \x20, {m,n}), which do not
// conflict. The start rule is `root`.

import { GrammarError } from '../bounds/grammar-error.ts';
import { characters } from '../automata/expression.ts';
import { complementOf, intersect, limits, type Dfa } from '../automata/dfa.ts';
import { determinize } from '../automata/determinize.ts';
import { readDefinitions, type Definition, type EbnfTerm } from './ebnf-parser.ts';
import { choice, reference, regular, repeat, scope, sequence, text, type Rule } from '../rules/rule.ts';

const START = 'root';

/** The rule of a grammar. Throws bad_request with the line in the grammar. */
export function ruleOfEbnf(grammar: string): Rule {
  const definitions = readDefinitions(grammar);
  const names = new Set(definitions.map(({ name }) => name));
  if (!names.has(START)) {
    throw new GrammarError(
      'bad_request',
      `the grammar has no rule named ${START}, where it begins: name one so, as in ${START} ::= …`,
    );
  }
  const rules: Record<string, Rule> = Object.create(null) as Record<string, Rule>;
  for (const definition of definitions) {
    if (Object.hasOwn(rules, definition.name))
      throw at(definition.line, `the rule ${definition.name} is defined twice`, 'join the two with |');
    rules[definition.name] = ruleOf(definition, names);
  }
  return scope(rules, reference(START));
}

/**
 * Replaces direct left recursion by repetition: e ::= e "x" | "b" becomes "b" "x"*. A repeated part that ends with the rule itself ends
 * with an alternative that is not left-recursive instead, since the repetition continues it: e ::= e "+" e | "b" keeps one of its
 * many readings and matches the same texts.
 */
function ruleOf({ name, alternatives, line }: Definition, names: ReadonlySet<string>): Rule {
  const isSelf = (term: EbnfTerm | undefined): boolean => term?.kind === 'reference' && term.name === name;
  const rests = alternatives.filter(([first]) => isSelf(first)).map((terms) => terms.slice(1));
  const bases = alternatives.filter(([first]) => !isSelf(first)).map((terms) => sequenceOf(terms, names));
  if (rests.length === 0) return choice(...bases);
  if (bases.length === 0)
    throw at(line, `the rule ${name} always begins with itself`, 'give it an alternative that does not');
  const base = choice(...bases);
  const restOf = (terms: EbnfTerm[]): Rule =>
    isSelf(terms.at(-1)) ? sequence(sequenceOf(terms.slice(0, -1), names), base) : sequenceOf(terms, names);
  const rest = rests.filter((terms) => terms.length > 0).map(restOf);
  return sequence(base, repeat(choice(...rest), 0));
}

function sequenceOf(terms: EbnfTerm[], names: ReadonlySet<string>): Rule {
  const rules = terms.map((term) => termOf(term, names));
  return rules.length === 1 ? rules[0]! : sequence(...rules);
}

function termOf(term: EbnfTerm, names: ReadonlySet<string>): Rule {
  switch (term.kind) {
    case 'text':
      return text(term.text);
    case 'set':
      return regular(determinize({ kind: 'set', set: term.set }));
    case 'reference':
      if (!names.has(term.name))
        throw at(term.line, `no rule is named ${term.name}`, 'define it, or put it in quotes');
      return reference(term.name);
    case 'group':
      return choice(...term.alternatives.map((terms) => sequenceOf(terms, names)));
    case 'repeat':
      return repeat(termOf(term.term, names), term.min, term.max);
    case 'difference': {
      const [all, but] = [dfaOfTerm(term.term, names), dfaOfTerm(term.but, names)];
      if (all === null || but === null)
        throw at(term.line, 'a difference has a side that refers to other rules', 'write both sides out');
      return regular(intersect(all, complementOf(but)));
    }
  }
}

/** The DFA of a term; null where it refers to other rules. */
function dfaOfTerm(term: EbnfTerm, names: ReadonlySet<string>): Dfa | null {
  const rule = termOf(term, names);
  if (rule.type === 'regular') return rule.dfa; // a set, which has no length bound
  return rule.type === 'text' ? determinize(characters(rule.text), limits()) : null;
}

function at(line: number, what: string, remedy: string): GrammarError {
  return new GrammarError('bad_request', `line ${line} of the grammar: ${what}; ${remedy}`);
}
