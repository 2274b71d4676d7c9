// The front end of Lark: grammars as regular expressions, in which every rule is expanded where it is used, so a recursive one is refused.
// Supported are rules, terminals, strings, expressions, ranges, ( ) [ ] | ? * + ~n..m, aliases, priorities, and imports of common
// terminals.

import { GrammarError } from '../bounds/grammar-error.ts';
import { parseRegex } from '../automata/regex-parser.ts';
import { rulesOf, tokensOf, type RuleBody, type Token } from './lark-tokens.ts';
import { fromPython, type Refuse } from './python-regex.ts';

/** Most characters of a regular expression; rules that are used in many places make it grow fast. */
const LONGEST = 50_000;
/** Most brackets and rules inside each other. */
const DEEPEST = 200;
const END: Token = { kind: 'end', text: 'the end' };

/** The regular expression of the rule `start`. Throws `unsupported` with `param` for a grammar that cannot be one. */
export function larkToRegex(grammar: string, param: string): string {
  const refuse = refuseAt(param);
  return new RuleExpander(rulesOf(tokensOf(grammar, refuse), refuse), refuse).expand('start');
}

/**
 * The regular expression of one in the syntax of Python or Rust, to stand between ^ and $. Throws `unsupported` and `bad_request` with
 * `param`.
 */
export function regexToRegex(pattern: string, param: string): string {
  const translated = fromPython(pattern, refuseAt(param));
  try {
    const [first, ...others] = parseRegex(translated);
    // Look-ahead is read directly after ^ alone, not in a group.
    if (others.length === 0 && first && first.lookaheads.length > 0) return translated;
    const grouped = `(?:${translated})`;
    parseRegex(`^${grouped}$`);
    return grouped;
  } catch (error) {
    throw asWritten(error, pattern, param);
  }
}

/** The error of a pattern: that of its text as it was written, if that cannot be read either. */
function asWritten(error: unknown, pattern: string, param: string): unknown {
  let shown = error;
  try {
    parseRegex(pattern);
  } catch (own) {
    shown = own;
  }
  if (!(shown instanceof GrammarError)) return shown;
  return new GrammarError(shown.code, `${param}: ${shown.message}`, { param, cause: shown });
}

function refuseAt(param: string): Refuse {
  return (what) => {
    throw new GrammarError('unsupported', `${param} ${what}`, { param });
  };
}

/** Expands rules into regular expressions, each once. */
class RuleExpander {
  readonly refuse: Refuse;
  readonly #rules: ReadonlyMap<string, RuleBody>;
  readonly #expanded = new Map<string, string>();
  /** Names of the rules being expanded, outermost first. */
  readonly #open: string[] = [];
  #depth = 0;

  constructor(rules: ReadonlyMap<string, RuleBody>, refuse: Refuse) {
    this.#rules = rules;
    this.refuse = refuse;
  }

  expand(name: string): string {
    const known = this.#expanded.get(name);
    if (known !== undefined) return known;
    if (this.#open.includes(name))
      this.refuse(
        `has the rule ${name}, which uses itself, and such grammars are not read; repeat with * or +`,
      );
    const body =
      this.#rules.get(name) ?? this.refuse(`uses ${name}, which it does not define; add a rule for it`);
    this.#open.push(name);
    const pattern = typeof body === 'string' ? body : this.nested(() => new RuleReader(body, this).read());
    this.#open.pop();
    this.#expanded.set(name, pattern);
    return pattern;
  }

  /** Runs `read` one level deeper; refuses too many levels. */
  nested(read: () => string): string {
    if (++this.#depth > DEEPEST) this.refuse(`has brackets and rules over ${DEEPEST} deep; make it flatter`);
    const pattern = read();
    this.#depth--;
    return pattern;
  }
}

/** A recursive descent parser of a rule's right side, which returns regular expressions. */
class RuleReader {
  readonly #tokens: readonly Token[];
  readonly #expander: RuleExpander;
  readonly #refuse: Refuse;
  #at = 0;

  constructor(tokens: readonly Token[], expander: RuleExpander) {
    this.#tokens = tokens;
    this.#expander = expander;
    this.#refuse = expander.refuse;
  }

  read(): string {
    const pattern = this.#choice();
    if (this.#at < this.#tokens.length)
      return this.#refuse(`has a ${this.#peek().text} that opens nothing; leave it out`);
    return pattern;
  }

  #peek(): Token {
    return this.#tokens[this.#at] ?? END;
  }

  #take(mark: string): boolean {
    const { kind, text } = this.#peek();
    if (text !== mark || kind !== 'mark') return false;
    this.#at++;
    return true;
  }

  #choice(): string {
    const parts = [this.#sequence()];
    let length = parts[0]!.length;
    while (this.#take('|')) {
      length += parts[parts.push(this.#sequence()) - 1]!.length;
      this.#checkLength(length);
    }
    return parts.length === 1 ? parts[0]! : `(?:${parts.join('|')})`;
  }

  #sequence(): string {
    let parts = '';
    while (this.#peek().kind !== 'end' && !['|', ')', ']'].includes(this.#peek().text)) {
      if (this.#take('->')) this.#at++;
      else parts += this.#repeated();
      this.#checkLength(parts.length);
    }
    return parts;
  }

  #repeated(): string {
    const one = this.#atom();
    for (const mark of ['*', '+', '?']) if (this.#take(mark)) return `(?:${one})${mark}`;
    if (this.#peek().kind !== 'count') return one;
    const bounds = this.#tokens[this.#at++]!.text.match(/\d+/g)!;
    return `(?:${one}){${bounds.join(',')}}`;
  }

  #atom(): string {
    if (this.#take('(')) return this.#closed(')');
    if (this.#take('[')) return `(?:${this.#closed(']')})?`;
    const { kind, text } = this.#peek();
    this.#at++;
    if (kind === 'regex') return `(?:${readRegex(text, this.#refuse)})`;
    if (kind === 'name') return this.#expander.expand(text);
    if (kind !== 'text') return this.#refuse(`has ${text} where it is not read; leave it out`);
    return this.#take('..') ? this.#range(text) : readString(text);
  }

  /** A range of characters after its first one. */
  #range(first: string): string {
    const last = this.#peek().kind === 'text' ? this.#tokens[this.#at++]!.text : null;
    if (last === null) return this.#refuse('has a range without an end; add it');
    return `[${[first, last].map((end) => readString(end).replace(/^-/, '\\-')).join('-')}]`;
  }

  /** A choice in brackets after the opening one. */
  #closed(mark: string): string {
    const inside = this.#expander.nested(() => this.#choice());
    return this.#take(mark) ? `(?:${inside})` : this.#refuse(`has a bracket that is not closed; add ${mark}`);
  }

  #checkLength(length: number): void {
    if (length > LONGEST)
      this.#refuse(`is longer than ${LONGEST} characters once its rules are written out; make it simpler`);
  }
}

const ESCAPES: Readonly<Record<string, string>> = {
  n: '\n',
  r: '\r',
  t: '\t',
  f: '\f',
  '\\': '\\',
  '"': '"',
};

/** The regular expression of a string in quotes; one with the flag i matches in either case. */
function readString(quoted: string): string {
  const end = quoted.lastIndexOf('"');
  const text = quoted
    .slice(1, end)
    .replace(/\\(?:u([\da-fA-F]{4})|x([\da-fA-F]{2})|(.))/g, (all, four, two, letter: string) =>
      letter === undefined ? String.fromCharCode(Number.parseInt(four ?? two, 16)) : (ESCAPES[letter] ?? all),
    );
  const escaped = (letter: string): string => letter.replace(/[\\^$.*+?()[\]{}|/]/, '\\$&');
  if (end === quoted.length - 1) return Array.from(text, escaped).join('');
  return Array.from(text, (letter) => {
    const cases = [...new Set([letter, letter.toLowerCase(), letter.toUpperCase()])];
    return cases.length === 1 ? escaped(letter) : `(?:${cases.map(escaped).join('|')})`;
  }).join('');
}

/** The regular expression of one between slashes. */
function readRegex(delimited: string, refuse: Refuse): string {
  const end = delimited.lastIndexOf('/');
  const flags = delimited.slice(end + 1);
  if (/[^su]/.test(flags))
    refuse(`has an expression with the flags ${flags}, and s alone is read; leave them out`);
  return fromPython(delimited.slice(1, end), refuse, flags.includes('s'));
}
