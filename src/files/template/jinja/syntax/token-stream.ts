// The tokens of a template for its parser: looking ahead, taking what is expected, and how deep rules stand in each other.

import { syntaxError, type Token, type TokenType } from './lexer.ts';
import { TemplateLimitError, SOURCE_LIMITS } from '../values/meter.ts';

export class TokenStream {
  readonly #tokens: readonly Token[];
  readonly #name: string;
  #at = 0;
  #depth = 0;

  /** `name`: the template's, for messages. */
  constructor(tokens: readonly Token[], name: string) {
    this.#tokens = tokens;
    this.#name = name;
  }

  get current(): Token {
    return this.#tokens[this.#at] ?? this.#tokens.at(-1)!;
  }

  get next(): Token {
    return this.#tokens[this.#at + 1] ?? this.#tokens.at(-1)!;
  }

  take(): Token {
    const token = this.current;
    this.#at++;
    return token;
  }

  is(type: TokenType): boolean {
    return this.current.type === type;
  }

  isName(...names: string[]): boolean {
    return this.current.type === 'name' && names.includes(this.current.text);
  }

  isOperator(...operators: string[]): boolean {
    return this.current.type === 'operator' && operators.includes(this.current.text);
  }

  takeName(name: string): boolean {
    if (!this.isName(name)) return false;
    this.#at++;
    return true;
  }

  takeOperator(operator: string): boolean {
    if (!this.isOperator(operator)) return false;
    this.#at++;
    return true;
  }

  expect(type: TokenType): Token {
    if (!this.is(type)) this.fail(`expected ${type.replace('_', ' ')}, got ${this.shown()}`);
    return this.take();
  }

  expectOperator(operator: string): void {
    if (!this.takeOperator(operator)) this.fail(`expected token '${operator}', got ${this.shown()}`);
  }

  expectName(name: string): void {
    if (!this.takeName(name)) this.fail(`expected token '${name}', got ${this.shown()}`);
  }

  shown(): string {
    const { type, text } = this.current;
    if (type === 'end') return "'end of template'";
    return `'${text || type.replace('_', ' ')}'`;
  }

  /** Runs a rule one level deeper. */
  nest<T>(rule: () => T): T {
    const { depth } = SOURCE_LIMITS;
    if (++this.#depth > depth)
      throw new TemplateLimitError(this.#name, `${depth} rules nested inside each other`);
    try {
      return rule();
    } finally {
      this.#depth--;
    }
  }

  fail(message: string, line = this.current.line): never {
    throw syntaxError(message, line);
  }
}
