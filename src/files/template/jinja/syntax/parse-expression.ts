// Expressions, weakest binding first, as jinja2 binds them: `**` from the left, a unary sign tighter than `**`, `~` between sums and
// products, filters and tests tighter than all operators.

import type { ArithmeticOperator, CallArguments, CompareOperator, Expression } from './syntax.ts';
import type { TokenStream } from './token-stream.ts';
import { Float } from '../values/values.ts';

const CONSTANTS: Readonly<Record<string, boolean | null>> = {
  true: true,
  True: true,
  false: false,
  False: false,
  none: null,
  None: null,
};

/** `conditions`: whether `a if b else c` is taken. */
export function parseExpression(tokens: TokenStream, conditions = true): Expression {
  return tokens.nest(() => (conditions ? parseCondition(tokens) : parseOr(tokens)));
}

/** An expression, or several with commas between them: a tuple. `ends`: names that end it. */
export function parseTuple(
  tokens: TokenStream,
  options: { conditions?: boolean; ends?: string[]; parenthesized?: boolean } = {},
): Expression {
  const { conditions = true, ends = [], parenthesized = false } = options;
  const items: Expression[] = [];
  let isTuple = false;
  for (;;) {
    if (items.length > 0) tokens.expectOperator(',');
    if (tokens.is('variable_end') || tokens.is('block_end') || tokens.isOperator(')')) break;
    if (ends.length > 0 && tokens.isName(...ends)) break;
    items.push(parseExpression(tokens, conditions));
    if (!tokens.isOperator(',')) break;
    isTuple = true;
  }
  if (isTuple) return { kind: 'tuple', items };
  if (items.length > 0) return items[0]!;
  if (!parenthesized) tokens.fail(`Expected an expression, got ${tokens.shown()}`);
  return { kind: 'tuple', items };
}

function parseCondition(tokens: TokenStream): Expression {
  let { line } = tokens.current;
  let left = parseOr(tokens);
  while (tokens.takeName('if')) {
    const test = parseOr(tokens);
    const no = tokens.takeName('else') ? tokens.nest(() => parseCondition(tokens)) : null;
    left = { kind: 'condition', test, yes: left, no, line };
    ({ line } = tokens.current);
  }
  return left;
}

function parseOr(tokens: TokenStream): Expression {
  let left = parseAnd(tokens);
  while (tokens.takeName('or')) left = { kind: 'or', left, right: parseAnd(tokens) };
  return left;
}

function parseAnd(tokens: TokenStream): Expression {
  let left = parseNot(tokens);
  while (tokens.takeName('and')) left = { kind: 'and', left, right: parseNot(tokens) };
  return left;
}

function parseNot(tokens: TokenStream): Expression {
  if (tokens.takeName('not')) return { kind: 'not', of: tokens.nest(() => parseNot(tokens)) };
  return parseCompare(tokens);
}

function parseCompare(tokens: TokenStream): Expression {
  const first = parseSum(tokens);
  const rest: { operator: CompareOperator; value: Expression }[] = [];
  for (;;) {
    let operator: CompareOperator;
    if (tokens.isOperator('==', '!=', '<', '<=', '>', '>=')) operator = tokens.take().text as CompareOperator;
    else if (tokens.takeName('in')) operator = 'in';
    else if (tokens.isName('not') && tokens.next.type === 'name' && tokens.next.text === 'in') {
      tokens.take();
      tokens.take();
      operator = 'not in';
    } else return rest.length > 0 ? { kind: 'compare', first, rest } : first;
    rest.push({ operator, value: parseSum(tokens) });
  }
}

function parseSum(tokens: TokenStream): Expression {
  let left = parseConcat(tokens);
  while (tokens.isOperator('+', '-')) left = arithmetic(tokens, left, parseConcat);
  return left;
}

function parseConcat(tokens: TokenStream): Expression {
  const parts = [parseProduct(tokens)];
  while (tokens.takeOperator('~')) parts.push(parseProduct(tokens));
  return parts.length > 1 ? { kind: 'concat', parts } : parts[0]!;
}

function parseProduct(tokens: TokenStream): Expression {
  let left = parsePower(tokens);
  while (tokens.isOperator('*', '/', '//', '%')) left = arithmetic(tokens, left, parsePower);
  return left;
}

function parsePower(tokens: TokenStream): Expression {
  let left = parseUnary(tokens);
  while (tokens.isOperator('**')) left = arithmetic(tokens, left, parseUnary);
  return left;
}

function arithmetic(
  tokens: TokenStream,
  left: Expression,
  operand: (tokens: TokenStream) => Expression,
): Expression {
  const operator = tokens.take().text as ArithmeticOperator;
  return { kind: 'arithmetic', operator, left, right: operand(tokens) };
}

function parseUnary(tokens: TokenStream, filters = true): Expression {
  let value: Expression;
  if (tokens.takeOperator('-'))
    value = { kind: 'negative', of: tokens.nest(() => parseUnary(tokens, false)) };
  else if (tokens.takeOperator('+'))
    value = { kind: 'positive', of: tokens.nest(() => parseUnary(tokens, false)) };
  else value = parsePrimary(tokens);
  value = parsePostfix(tokens, value);
  return filters ? parseFilters(tokens, value) : value;
}

function parsePrimary(tokens: TokenStream): Expression {
  const token = tokens.current;
  if (token.type === 'name') {
    tokens.take();
    if (Object.hasOwn(CONSTANTS, token.text)) return { kind: 'literal', value: CONSTANTS[token.text]! };
    return { kind: 'name', name: token.text };
  }
  if (token.type === 'string') {
    let value = '';
    while (tokens.is('string')) value += tokens.take().text;
    return { kind: 'literal', value };
  }
  if (token.type === 'integer') return { kind: 'literal', value: tokens.take().number };
  if (token.type === 'float') return { kind: 'literal', value: new Float(Number(tokens.take().number)) };
  if (tokens.takeOperator('(')) {
    const inner = parseTuple(tokens, { parenthesized: true });
    tokens.expectOperator(')');
    return inner;
  }
  if (tokens.takeOperator('[')) {
    const items: Expression[] = [];
    parseSeries(tokens, ']', () => items.push(parseExpression(tokens)));
    return { kind: 'list', items };
  }
  if (tokens.takeOperator('{')) {
    const pairs: { key: Expression; value: Expression }[] = [];
    parseSeries(tokens, '}', () => {
      const key = parseExpression(tokens);
      tokens.expectOperator(':');
      pairs.push({ key, value: parseExpression(tokens) });
    });
    return { kind: 'dict', pairs };
  }
  return tokens.fail(`unexpected ${tokens.shown()}`);
}

/** Elements with commas between them up to `close`; a comma may end them. */
function parseSeries(tokens: TokenStream, close: string, element: () => void): void {
  for (let first = true; !tokens.isOperator(close); first = false) {
    if (!first) tokens.expectOperator(',');
    if (tokens.isOperator(close)) break;
    element();
  }
  tokens.expectOperator(close);
}

function parsePostfix(tokens: TokenStream, start: Expression): Expression {
  let value = start;
  for (;;) {
    if (tokens.isOperator('.', '[')) value = parseSubscript(tokens, value);
    else if (tokens.isOperator('(')) value = { kind: 'call', of: value, given: parseArguments(tokens) };
    else return value;
  }
}

function parseFilters(tokens: TokenStream, start: Expression): Expression {
  let value = start;
  for (;;) {
    if (tokens.isOperator('|')) {
      tokens.take();
      value = parseFilter(tokens, value);
    } else if (tokens.isName('is')) value = parseTest(tokens, value);
    else if (tokens.isOperator('(')) value = { kind: 'call', of: value, given: parseArguments(tokens) };
    else return value;
  }
}

function parseSubscript(tokens: TokenStream, of: Expression): Expression {
  if (tokens.take().text === '.') {
    const name = tokens.take();
    if (name.type === 'name') return { kind: 'attribute', of, name: name.text };
    if (name.type !== 'integer') tokens.fail('expected name or number', name.line);
    return { kind: 'item', of, index: { kind: 'literal', value: name.number } };
  }
  const items: Expression[] = [];
  while (!tokens.isOperator(']')) {
    if (items.length > 0) tokens.expectOperator(',');
    items.push(parseIndex(tokens));
  }
  tokens.expectOperator(']');
  const [only] = items;
  return { kind: 'item', of, index: items.length === 1 && only ? only : { kind: 'tuple', items } };
}

function parseIndex(tokens: TokenStream): Expression {
  const part = (): Expression | null => (tokens.isOperator(':', ']', ',') ? null : parseExpression(tokens));
  const start = part();
  if (!tokens.takeOperator(':')) return start ?? tokens.fail(`unexpected ${tokens.shown()}`);
  const stop = part();
  const step = tokens.takeOperator(':') ? part() : null;
  return { kind: 'slice', start, stop, step };
}

function parseArguments(tokens: TokenStream): CallArguments {
  const { line } = tokens.current;
  const given: CallArguments = { positional: [], named: [], spread: null, spreadNamed: null };
  const ensure = (holds: boolean): void => {
    if (!holds) tokens.fail('invalid syntax for function call expression', line);
  };
  tokens.expectOperator('(');
  parseSeries(tokens, ')', () => {
    if (tokens.takeOperator('*')) {
      ensure(!given.spread && !given.spreadNamed);
      given.spread = parseExpression(tokens);
    } else if (tokens.takeOperator('**')) {
      ensure(!given.spreadNamed);
      given.spreadNamed = parseExpression(tokens);
    } else if (tokens.is('name') && tokens.next.type === 'operator' && tokens.next.text === '=') {
      ensure(!given.spreadNamed);
      const name = tokens.take().text;
      tokens.take();
      if (given.named.some((other) => other.name === name))
        tokens.fail(`keyword argument repeated: ${name}`, line);
      given.named.push({ name, value: parseExpression(tokens) });
    } else {
      ensure(!given.spread && !given.spreadNamed && given.named.length === 0);
      given.positional.push(parseExpression(tokens));
    }
  });
  return given;
}

function parseDottedName(tokens: TokenStream): string {
  let name = tokens.expect('name').text;
  while (tokens.takeOperator('.')) name += `.${tokens.expect('name').text}`;
  return name;
}

/** A filter behind its `|`, and those after it. */
export function parseFilter(tokens: TokenStream, of: Expression | null): Expression {
  const name = parseDottedName(tokens);
  const given = tokens.isOperator('(') ? parseArguments(tokens) : noArguments();
  const filter: Expression = { kind: 'filter', of, name, given };
  return tokens.takeOperator('|') ? parseFilter(tokens, filter) : filter;
}

function parseTest(tokens: TokenStream, of: Expression): Expression {
  tokens.take();
  const negated = tokens.takeName('not');
  const name = parseDottedName(tokens);
  let given = noArguments();
  if (tokens.isOperator('(')) given = parseArguments(tokens);
  else if (startsOperand(tokens)) {
    if (tokens.isName('is')) tokens.fail('You cannot chain multiple tests with is');
    given = { ...given, positional: [parsePostfix(tokens, parsePrimary(tokens))] };
  }
  const test: Expression = { kind: 'test', of, name, given };
  return negated ? { kind: 'not', of: test } : test;
}

function startsOperand(tokens: TokenStream): boolean {
  if (tokens.isOperator('[', '{')) return true;
  if (tokens.is('name')) return !tokens.isName('else', 'or', 'and');
  return tokens.is('string') || tokens.is('integer') || tokens.is('float');
}

function noArguments(): CallArguments {
  return { positional: [], named: [], spread: null, spreadNamed: null };
}
