// The tokens of Lark grammars, and the rules that they define.

import type { Refuse } from './python-regex.ts';

export interface Token {
  kind: 'text' | 'regex' | 'name' | 'count' | 'mark' | 'end';
  text: string;
}

/** The tokens of a rule's right side, or the regular expression of an imported terminal. */
export type RuleBody = readonly Token[] | string;

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

/** The terminals of Lark's module `common`. */
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

export function tokensOf(grammar: string, refuse: Refuse): Token[] {
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
    const [kind, text] = Object.entries(groups).find(([, match]) => match !== undefined)!;
    if (kind !== 'space') tokens.push({ kind: kind as Token['kind'], text });
  }
  return tokens;
}

/** Rules and terminals by their names. */
export function rulesOf(tokens: readonly Token[], refuse: Refuse): Map<string, RuleBody> {
  const rules = new Map<string, RuleBody>();
  for (let at = 0; at < tokens.length;) {
    const { text } = tokens[at]!;
    if (text === '%import') {
      const { name, pattern, end } = readImport(tokens, at, refuse);
      rules.set(name, pattern);
      at = end;
      continue;
    }
    if (!isHead(tokens, at))
      return refuse(`has ${text} where a rule should begin, and that is not read; leave it out`);
    const begin = tokens[at + 1]!.text === ':' ? at + 2 : at + 3;
    let end = begin;
    while (end < tokens.length && !isHead(tokens, end) && !tokens[end]!.text.startsWith('%')) end++;
    rules.set(text.replace(/^[!?]+/, ''), tokens.slice(begin, end));
    at = end;
  }
  return rules;
}

/** Whether a rule begins at a token: a name, a priority where there is one, and a colon. */
function isHead(tokens: readonly Token[], at: number): boolean {
  const next = tokens[at + 1];
  const hasPriority = next?.kind === 'mark' && /^\.-?\d/.test(next.text);
  return tokens[at]?.kind === 'name' && tokens[hasPriority ? at + 2 : at + 1]?.text === ':';
}

/** Reads `%import common.NAME` with or without `-> RENAMED`. */
function readImport(
  tokens: readonly Token[],
  at: number,
  refuse: Refuse,
): { name: string; pattern: string; end: number } {
  const [library, dot, name] = tokens.slice(at + 1, at + 4).map(({ text }) => text);
  const pattern = library === 'common' && dot === '.' ? COMMON[name ?? ''] : undefined;
  if (pattern === undefined)
    return refuse(`imports what is not here; of common there are ${Object.keys(COMMON).join(', ')}`);
  const renamed = tokens[at + 4]?.text === '->' ? tokens[at + 5]?.text : undefined;
  return { name: renamed ?? name!, pattern, end: at + (renamed === undefined ? 4 : 6) };
}
