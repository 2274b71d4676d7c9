// Statements. Tags are those of jinja2 with loop controls, and `generation`, which marks what the assistant wrote.

import { tokenize } from './lexer.ts';
import { TemplateLimitError, SOURCE_LIMITS } from '../values/meter.ts';
import { parseExpression, parseFilter, parseTuple } from './parse-expression.ts';
import type { Expression, MacroBody, Parameter, Statement, Target } from './syntax.ts';
import { TokenStream } from './token-stream.ts';
import { namesRead } from './walk.ts';

/** Throws TemplateFailure for what is not a template, EngineError for one beyond SOURCE_LIMITS. `name`: for messages. */
export function parseTemplate(source: string, name: string): Statement[] {
  const { length } = SOURCE_LIMITS;
  if (source.length > length)
    throw new TemplateLimitError(name, `${length.toLocaleString('en-US')} characters`);
  return new Parser(new TokenStream(tokenize(source), name)).template();
}

type Rule = (parser: Parser) => Statement;

const RULES: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  ['if', (parser) => parser.condition()],
  ['for', (parser) => parser.loop()],
  ['set', (parser) => parser.assignment()],
  ['with', (parser) => parser.scope()],
  ['macro', (parser) => parser.macro()],
  ['call', (parser) => parser.callBlock()],
  ['filter', (parser) => parser.filterBlock()],
  ['block', (parser) => parser.block()],
  ['print', (parser) => parser.print()],
  ['generation', (parser) => parser.generation()],
  ['autoescape', (parser) => parser.escapes()],
  ['break', (parser) => parser.jump('break')],
  ['continue', (parser) => parser.jump('continue')],
  ...['include', 'import', 'from', 'extends'].map((tag): [string, Rule] => [
    tag,
    (parser) => parser.otherTemplate(tag),
  ]),
]);

class Parser {
  readonly #tokens: TokenStream;
  /** Loops around the current statement, within its macro. */
  #loops = 0;

  constructor(tokens: TokenStream) {
    this.#tokens = tokens;
  }

  template(): Statement[] {
    const body = this.#statements([]);
    if (!this.#tokens.is('end')) this.#tokens.fail(`unexpected ${this.#tokens.shown()}`);
    return body;
  }

  /** Statements up to a tag of `ends`, whose name is then the current token. */
  #statements(ends: string[]): Statement[] {
    const tokens = this.#tokens;
    const body: Statement[] = [];
    for (;;) {
      if (tokens.is('data')) body.push({ kind: 'text', text: tokens.take().text });
      else if (tokens.is('variable_begin')) {
        tokens.take();
        body.push({ kind: 'output', value: parseTuple(tokens) });
        tokens.expect('variable_end');
      } else if (tokens.is('block_begin')) {
        tokens.take();
        if (tokens.isName(...ends)) return body;
        body.push(tokens.nest(() => this.#statement(ends)));
        tokens.expect('block_end');
      } else {
        if (ends.length > 0)
          tokens.fail(
            `Unexpected end of template. Jinja was looking for the following tags: ${ends.join(', ')}`,
          );
        return body;
      }
    }
  }

  #statement(ends: string[]): Statement {
    const tokens = this.#tokens;
    if (!tokens.is('name')) tokens.fail('tag name expected');
    const { text: tag, line } = tokens.take();
    const rule = RULES.get(tag);
    if (rule) return rule(this);
    const looking = ends.length > 0 ? ` Jinja was looking for the following tags: ${ends.join(', ')}` : '';
    return tokens.fail(`Encountered unknown tag '${tag}'.${looking}`, line);
  }

  /** The body of a statement behind its head. `isLoop`: a loop's; null: one of a function, which no loop reaches into. */
  #body(ends: string[], isLoop: boolean | null = false): Statement[] {
    const loops = this.#loops;
    this.#loops = isLoop === null ? 0 : loops + Number(isLoop);
    this.#tokens.takeOperator(':');
    this.#tokens.expect('block_end');
    const body = this.#statements(ends);
    this.#loops = loops;
    return body;
  }

  /** `#body` with its end tag. */
  #bodyTo(end: string, isLoop: boolean | null = false): Statement[] {
    const body = this.#body([end], isLoop);
    this.#tokens.take();
    return body;
  }

  #macroBody(parameters: Parameter[], end: string): MacroBody {
    const body = this.#bodyTo(end, null);
    return { parameters, body, reads: namesRead(body) };
  }

  condition(): Statement {
    const branches: { test: Expression; body: Statement[] }[] = [];
    for (;;) {
      const test = parseTuple(this.#tokens, { conditions: false });
      branches.push({ test, body: this.#body(['elif', 'else', 'endif']) });
      const end = this.#tokens.take().text;
      if (end === 'elif') continue;
      return { kind: 'if', branches, otherwise: end === 'else' ? this.#bodyTo('endif') : [] };
    }
  }

  loop(): Statement {
    const tokens = this.#tokens;
    const target = this.#target({ ends: ['in'] });
    if (namesOf(target).includes('loop'))
      tokens.fail("Can't assign to special loop variable in for-loop target");
    tokens.expectName('in');
    const over = parseTuple(tokens, { conditions: false, ends: ['recursive'] });
    const test = tokens.takeName('if') ? parseExpression(tokens) : null;
    const recursive = tokens.takeName('recursive');
    const body = this.#body(['endfor', 'else'], true);
    const otherwise = tokens.take().text === 'else' ? this.#bodyTo('endfor') : [];
    return { kind: 'for', target, over, test, recursive, body, otherwise };
  }

  assignment(): Statement {
    const tokens = this.#tokens;
    const target = this.#target({ members: true });
    if (tokens.takeOperator('=')) return { kind: 'set', target, value: parseTuple(tokens) };
    const filter = tokens.takeOperator('|') ? parseFilter(tokens, null) : null;
    return { kind: 'set block', target, filter, body: this.#bodyTo('endset') };
  }

  scope(): Statement {
    const tokens = this.#tokens;
    const values: { target: Target; value: Expression }[] = [];
    while (!tokens.is('block_end')) {
      if (values.length > 0) tokens.expectOperator(',');
      const target = this.#target();
      tokens.expectOperator('=');
      values.push({ target, value: parseExpression(tokens) });
    }
    return { kind: 'with', values, body: this.#bodyTo('endwith') };
  }

  macro(): Statement {
    const name = this.#tokens.expect('name').text;
    const parameters = this.#parameters();
    return { kind: 'macro', name, ...this.#macroBody(parameters, 'endmacro') };
  }

  callBlock(): Statement {
    const tokens = this.#tokens;
    const parameters = tokens.isOperator('(') ? this.#parameters() : [];
    const call = parseExpression(tokens);
    if (call.kind !== 'call') return tokens.fail('expected call');
    return { kind: 'call block', call, ...this.#macroBody(parameters, 'endcall') };
  }

  generation(): Statement {
    return { kind: 'call block', call: null, ...this.#macroBody([], 'endgeneration') };
  }

  filterBlock(): Statement {
    const filter = parseFilter(this.#tokens, null);
    return { kind: 'filter block', filter, body: this.#bodyTo('endfilter') };
  }

  block(): Statement {
    const tokens = this.#tokens;
    const name = tokens.expect('name').text;
    const scoped = tokens.takeName('scoped');
    tokens.takeName('required');
    const body = this.#bodyTo('endblock', null);
    tokens.takeName(name);
    return { kind: 'block', scoped, body };
  }

  print(): Statement {
    const tokens = this.#tokens;
    const parts: Expression[] = [];
    while (!tokens.is('block_end')) {
      if (parts.length > 0) tokens.expectOperator(',');
      parts.push(parseExpression(tokens));
    }
    return { kind: 'output', value: { kind: 'concat', parts } };
  }

  escapes(): Statement {
    const on = parseExpression(this.#tokens);
    const body = this.#bodyTo('endautoescape');
    if (on.kind !== 'literal' || on.value !== false) return { kind: 'refuse', what: 'autoescape' };
    return { kind: 'with', values: [], body };
  }

  otherTemplate(tag: string): Statement {
    while (!this.#tokens.is('block_end') && !this.#tokens.is('end')) this.#tokens.take();
    return { kind: 'refuse', what: `${tag}, as there is one template only,` };
  }

  jump(kind: 'break' | 'continue'): Statement {
    if (this.#loops === 0) this.#tokens.fail(`'${kind}' outside loop`);
    return { kind };
  }

  #parameters(): Parameter[] {
    const tokens = this.#tokens;
    const parameters: Parameter[] = [];
    tokens.expectOperator('(');
    while (!tokens.isOperator(')')) {
      if (parameters.length > 0) tokens.expectOperator(',');
      const name = tokens.expect('name').text;
      const value = tokens.takeOperator('=') ? parseExpression(tokens) : null;
      if (value === null && parameters.at(-1)?.default)
        tokens.fail('non-default argument follows default argument');
      parameters.push({ name, default: value });
    }
    tokens.expectOperator(')');
    return parameters;
  }

  /** A name, or names with commas between them; `members`: also `namespace.member`. */
  #target({ ends = [], members = false }: { ends?: string[]; members?: boolean } = {}): Target {
    const tokens = this.#tokens;
    const items: Target[] = [];
    let isTuple = false;
    for (;;) {
      if (items.length > 0) tokens.expectOperator(',');
      if (isTuple && (tokens.isOperator('=', ')') || tokens.is('block_end') || tokens.isName(...ends))) break;
      items.push(tokens.nest(() => this.#singleTarget(members)));
      if (!tokens.isOperator(',')) break;
      isTuple = true;
    }
    return isTuple ? { kind: 'target tuple', items } : items[0]!;
  }

  #singleTarget(members: boolean): Target {
    const tokens = this.#tokens;
    if (tokens.takeOperator('(')) {
      const target = this.#target({ members });
      tokens.expectOperator(')');
      return target;
    }
    const name = tokens.expect('name').text;
    if (/^(true|false|none|True|False|None)$/.test(name)) tokens.fail(`can't assign to '${name}'`);
    if (members && tokens.takeOperator('.'))
      return { kind: 'target member', name, member: tokens.expect('name').text };
    return { kind: 'target name', name };
  }
}

export function namesOf(target: Target): string[] {
  if (target.kind === 'target tuple') return target.items.flatMap(namesOf);
  return target.kind === 'target name' ? [target.name] : [];
}
