// Lark grammars as regular expressions: every rule is written out where it is used, so one that uses itself is refused. Read are
// rules, terminals, strings, expressions, ranges, ( ) [ ] | ? * + ~n..m, aliases, priorities, and imports of common terminals.

import { GrammarError } from '../grammar-error.ts';
import { fromPython, type Refuse } from './python-regex.ts';

const TOKENS = new RegExp(
  [
    /(?<space>\s+|\/\/[^\n]*|#[^\n]*)/,
    /(?<text>"(?:\\.|[^"\\\n])*"i?)/,
    /(?<regex>\/(?:\\.|[^/\\\n])+\/[a-z]*)/,
    /(?<name>[!?]*_?[A-Za-z][\w]*)/,
    /(?<count>~\s*\d+(?:\s*\.\.\s*\d+)?)/,
    /(?<mark>->|\.\.|\.-?\d+|%\w+|[:|()[\]*+?.,])/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'suy',
);

interface Token {
  kind: 'text' | 'regex' | 'name' | 'count' | 'mark' | 'end';
  said: string;
}

/** Of Lark's own library. */
const COMMON: Readonly<Record<string, string>> = {
  LF: '\\n',
  CR: '\\r',
  NEWLINE: '(?:\\r?\\n)+',
  WS: '[ \\t\\f\\r\\n]+',
  WS_INLINE: '[ \\t]+',
  DIGIT: '[0-9]',
  HEXDIGIT: '[a-fA-F0-9]',
  INT: '[0-9]+',
  SIGNED_INT: '[+-]?[0-9]+',
  DECIMAL: '(?:[0-9]+\\.[0-9]*|\\.[0-9]+)',
  LCASE_LETTER: '[a-z]',
  UCASE_LETTER: '[A-Z]',
  LETTER: '[A-Za-z]',
  WORD: '[A-Za-z]+',
  CNAME: '[_A-Za-z][_A-Za-z0-9]*',
  ESCAPED_STRING: '"(?:[^"\\\\\\n]|\\\\[^\\n])*"',
};

/** Characters of a regular expression: rules that are used often, and use such, grow fast. */
const LONGEST = 50_000;
/** Brackets and rules in one another. */
const DEEPEST = 200;

/** The texts that fit the rule `start`. Throws unsupported, with `param`, for a grammar that is not regular. */
export function larkToRegex(grammar: string, param: string): string {
  const refuse = refuseAt(param);
  const tokens = tokensOf(grammar, refuse);
  const rules = rulesOf(tokens, refuse);
  const written = new Map<string, string>();
  const open: string[] = [];
  let depth = 0;
  const within = (inside: () => string): string => {
    if (++depth > DEEPEST) refuse(`has brackets and rules over ${DEEPEST} deep; make it flatter`);
    const text = inside();
    depth--;
    return text;
  };
  const write = (name: string): string => {
    const known = written.get(name);
    if (known !== undefined) return known;
    if (open.includes(name))
      refuse(`has the rule ${name}, which uses itself, and such grammars are not read; repeat with * or +`);
    const body = rules.get(name) ?? refuse(`uses ${name}, which it does not define; add a rule for it`);
    open.push(name);
    const text = typeof body === 'string' ? body : within(() => readRule(body, write, within, refuse));
    open.pop();
    written.set(name, text);
    return text;
  };
  return write('start');
}

/** An expression by itself. */
export const regexToRegex = (pattern: string, param: string): string => fromPython(pattern, refuseAt(param));

function refuseAt(param: string): Refuse {
  return (what) => {
    throw new GrammarError('unsupported', `${param} ${what}`, { param });
  };
}

function tokensOf(grammar: string, refuse: Refuse): Token[] {
  const tokens: Token[] = [];
  TOKENS.lastIndex = 0;
  while (TOKENS.lastIndex < grammar.length) {
    const from = TOKENS.lastIndex;
    const groups = TOKENS.exec(grammar)?.groups;
    if (!groups) {
      const line = grammar.slice(0, from).split('\n').length;
      return refuse(
        `cannot be read in line ${line} from ${JSON.stringify(grammar.slice(from, from + 20))} on`,
      );
    }
    const [kind, said] = Object.entries(groups).find(([, match]) => match !== undefined)!;
    if (kind !== 'space') tokens.push({ kind: kind as Token['kind'], said });
  }
  return tokens;
}

const END: Token = { kind: 'end', said: 'the end' };

/** The tokens of each rule's right side; what is imported is a regular expression already. */
function rulesOf(tokens: readonly Token[], refuse: Refuse): Map<string, Token[] | string> {
  const rules = new Map<string, Token[] | string>();
  const isHead = (at: number): boolean => {
    const colon = tokens[at + 1]?.kind === 'mark' && /^\.-?\d/.test(tokens[at + 1]!.said) ? at + 2 : at + 1;
    return tokens[at]?.kind === 'name' && tokens[colon]?.said === ':';
  };
  for (let at = 0; at < tokens.length;) {
    const { said } = tokens[at]!;
    if (said === '%import') {
      const [library, dot, name] = tokens.slice(at + 1, at + 4).map((token) => token.said);
      const found = library === 'common' && dot === '.' ? COMMON[name ?? ''] : undefined;
      if (found === undefined)
        return refuse(`imports what is not here; of common there are ${Object.keys(COMMON).join(', ')}`);
      at += 4;
      const renamed = tokens[at]?.said === '->' ? tokens[at + 1]?.said : undefined;
      if (renamed !== undefined) at += 2;
      rules.set(renamed ?? name!, found);
      continue;
    }
    if (!isHead(at))
      return refuse(`has ${said} where a rule should begin, and that is not read; leave it out`);
    const begin = tokens[at + 1]!.said === ':' ? at + 2 : at + 3;
    let end = begin;
    while (end < tokens.length && !isHead(end) && !tokens[end]!.said.startsWith('%')) end++;
    rules.set(said.replace(/^[!?]+/, ''), tokens.slice(begin, end));
    at = end;
  }
  return rules;
}

function readRule(
  tokens: readonly Token[],
  write: (name: string) => string,
  within: (inside: () => string) => string,
  refuse: Refuse,
): string {
  let at = 0;
  const peek = (): Token => tokens[at] ?? END;
  const take = (said: string): boolean => {
    if (peek().said !== said || peek().kind !== 'mark') return false;
    at++;
    return true;
  };
  const checkLength = (length: number): void => {
    if (length > LONGEST)
      refuse(`is longer than ${LONGEST} characters once its rules are written out; make it simpler`);
  };
  const choice = (): string => {
    const parts = [sequence()];
    let length = parts[0]!.length;
    while (take('|')) {
      length += parts[parts.push(sequence()) - 1]!.length;
      checkLength(length);
    }
    return parts.length === 1 ? parts[0]! : `(?:${parts.join('|')})`;
  };
  const sequence = (): string => {
    let parts = '';
    while (peek().kind !== 'end' && !['|', ')', ']'].includes(peek().said)) {
      if (take('->')) at++;
      else parts += repeated();
      checkLength(parts.length);
    }
    return parts;
  };
  const repeated = (): string => {
    const one = atom();
    for (const mark of ['*', '+', '?']) if (take(mark)) return `(?:${one})${mark}`;
    if (peek().kind !== 'count') return one;
    const bounds = tokens[at++]!.said.match(/\d+/g)!;
    return `(?:${one}){${bounds.join(',')}}`;
  };
  const atom = (): string => {
    if (take('(')) return closed(within(choice), ')');
    if (take('[')) return `(?:${closed(within(choice), ']')})?`;
    const { kind, said } = peek();
    at++;
    if (kind === 'regex') return `(?:${readRegex(said, refuse)})`;
    if (kind === 'name') return write(said);
    if (kind !== 'text') return refuse(`has ${said} where it is not read; leave it out`);
    if (!take('..')) return readText(said);
    const last = peek().kind === 'text' ? tokens[at++]!.said : refuse('has a range without an end; add it');
    return `[${[said, last].map((end) => readText(end).replace(/^-/, '\\-')).join('-')}]`;
  };
  const closed = (inside: string, mark: string): string =>
    take(mark) ? `(?:${inside})` : refuse(`has a bracket that is not closed; add ${mark}`);
  const whole = choice();
  return at < tokens.length ? refuse(`has a ${peek().said} that opens nothing; leave it out`) : whole;
}

const ESCAPES: Readonly<Record<string, string>> = {
  n: '\n',
  r: '\r',
  t: '\t',
  f: '\f',
  '\\': '\\',
  '"': '"',
};

/** A string, as the expression for it. */
function readText(said: string): string {
  const end = said.lastIndexOf('"');
  const text = said
    .slice(1, end)
    .replace(/\\(?:u([\da-fA-F]{4})|x([\da-fA-F]{2})|(.))/g, (all, four, two, letter: string) =>
      letter === undefined ? String.fromCharCode(Number.parseInt(four ?? two, 16)) : (ESCAPES[letter] ?? all),
    );
  const escaped = (letter: string): string => letter.replace(/[\\^$.*+?()[\]{}|/]/, '\\$&');
  if (end === said.length - 1) return Array.from(text, escaped).join('');
  return Array.from(text, (letter) => {
    const cases = [...new Set([letter, letter.toLowerCase(), letter.toUpperCase()])];
    return cases.length === 1 ? escaped(letter) : `(?:${cases.map(escaped).join('|')})`;
  }).join('');
}

function readRegex(said: string, refuse: Refuse): string {
  const end = said.lastIndexOf('/');
  const flags = said.slice(end + 1);
  if (/[^su]/.test(flags))
    refuse(`has an expression with the flags ${flags}, and s alone is read; leave them out`);
  return fromPython(said.slice(1, end), refuse, flags.includes('s'));
}
