// Which expressions of a tokenizer are refused before they run: JavaScript matches by backtracking, where a repeated group whose
// turns can divide one text in several ways takes time that doubles with each character. The rule looks at the form alone: a group
// repeated many times must hold neither alternatives nor anything that itself repeats a varying number of times. Published
// tokenizers have no such group.

const MOST_LENGTH = 20_000;
const MOST_DEPTH = 100;
/** Turns of a group, or of an exact repetition of exact repetitions. */
const MANY = 16;
const MOST_TURNS = 10_000;

interface Group {
  /** Whether two iterations can differ in length or choice. */
  varies: boolean;
  /** Largest product of exact repetitions inside. */
  turns: number;
}

/** Throws an Error that says what is wrong with the expression. */
export function refuseSlow(expression: string): void {
  const refuse = (reason: string): Error =>
    new Error(`the expression ${JSON.stringify(expression.slice(0, 100))} ${reason}`);
  if (expression.length > MOST_LENGTH)
    throw refuse(`has ${expression.length} characters, ${MOST_LENGTH} are allowed`);
  const open: Group[] = [{ varies: false, turns: 1 }];
  for (let at = 0; at < expression.length;) {
    const character = expression[at]!;
    const group = open.at(-1)!;
    if (character === '(') {
      open.push({ varies: false, turns: 1 });
      if (open.length > MOST_DEPTH) throw refuse(`nests more than ${MOST_DEPTH} groups`);
      at = afterOpening(expression, at);
      continue;
    }
    if (character === '|') group.varies = true;
    let inner: Group = { varies: false, turns: 1 };
    if (character === ')' && open.length > 1) inner = open.pop()!;
    at = afterAtom(expression, at);
    const repeated = quantifierAt(expression, at);
    const outer = open.at(-1)!;
    if (repeated.most > MANY && inner.varies)
      throw refuse('can take exponential time: it repeats a group that varies');
    if (inner.turns * repeated.least > MOST_TURNS)
      throw refuse(`repeats something more than ${MOST_TURNS} times`);
    outer.varies ||= inner.varies || repeated.least !== repeated.most;
    outer.turns = Math.max(outer.turns, inner.turns * Math.max(1, repeated.least));
    at = repeated.end;
  }
}

/** After `(`, `(?:`, `(?=`, `(?<name>` and their like, whose `?` is not a quantifier. */
function afterOpening(expression: string, at: number): number {
  const [opening = '('] =
    /^\((?:\?(?:[:=!>]|<[=!]|<\w+>|[a-z-]*:?))?/i.exec(expression.slice(at, at + 60)) ?? [];
  return at + opening.length;
}

/** After one character, escape or class; classes may hold classes. */
function afterAtom(expression: string, at: number): number {
  if (expression[at] === '\\') {
    const [escape = '\\'] = /^\\(?:[pPxu]\{[^}]*\}|.)/su.exec(expression.slice(at, at + 60)) ?? [];
    return at + escape.length;
  }
  if (expression[at] !== '[') return at + 1;
  let depth = 0;
  for (let i = at; i < expression.length; i++) {
    if (expression[i] === '\\') i++;
    else if (expression[i] === '[') depth++;
    else if (expression[i] === ']' && --depth === 0) return i + 1;
  }
  return expression.length;
}

/** Number of repetitions that the quantifier at `at` allows; once without a quantifier. */
function quantifierAt(expression: string, at: number): { least: number; most: number; end: number } {
  const found = /^(?:([*+?])|\{(\d*)(,?)(\d*)\})[?+]?/.exec(expression.slice(at, at + 40));
  if (found === null || found[0] === '{}') return { least: 1, most: 1, end: at };
  const end = at + found[0].length;
  const [, sign, least = '', comma = '', most = ''] = found;
  if (sign === '?') return { least: 0, most: 1, end };
  if (sign !== undefined) return { least: sign === '+' ? 1 : 0, most: Infinity, end };
  const from = Number(least || 0);
  return { least: from, most: most !== '' ? Number(most) : comma === '' ? from : Infinity, end };
}
