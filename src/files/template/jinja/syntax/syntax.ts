// The syntax tree of a template.

import type { Float } from '../values/values.ts';

export type Expression =
  | { kind: 'literal'; value: null | boolean | string | number | bigint | Float }
  | { kind: 'name'; name: string }
  | { kind: 'list' | 'tuple'; items: Expression[] }
  | { kind: 'dict'; pairs: { key: Expression; value: Expression }[] }
  | { kind: 'attribute'; of: Expression; name: string }
  | { kind: 'item'; of: Expression; index: Expression }
  | { kind: 'slice'; start: Expression | null; stop: Expression | null; step: Expression | null }
  | { kind: 'call'; of: Expression; given: CallArguments }
  | { kind: 'filter'; of: Expression | null; name: string; given: CallArguments }
  | { kind: 'test'; of: Expression; name: string; given: CallArguments }
  | { kind: 'not' | 'negative' | 'positive'; of: Expression }
  | { kind: 'and' | 'or'; left: Expression; right: Expression }
  | { kind: 'arithmetic'; operator: ArithmeticOperator; left: Expression; right: Expression }
  | { kind: 'concat'; parts: Expression[] }
  | { kind: 'compare'; first: Expression; rest: { operator: CompareOperator; value: Expression }[] }
  | { kind: 'condition'; test: Expression; yes: Expression; no: Expression | null; line: number };

export type ArithmeticOperator = '+' | '-' | '*' | '/' | '//' | '%' | '**';
export type CompareOperator = '==' | '!=' | '<' | '<=' | '>' | '>=' | 'in' | 'not in';

export interface CallArguments {
  positional: Expression[];
  named: { name: string; value: Expression }[];
  /** `*values` and `**values`. */
  spread: Expression | null;
  spreadNamed: Expression | null;
}

export type Target =
  | { kind: 'target name'; name: string }
  | { kind: 'target member'; name: string; member: string }
  | { kind: 'target tuple'; items: Target[] };

export interface Parameter {
  name: string;
  default: Expression | null;
}

export interface MacroBody {
  parameters: Parameter[];
  body: Statement[];
  /** Names that the body reads and does not set before. */
  reads: ReadonlySet<string>;
}

export type Statement =
  | { kind: 'text'; text: string }
  | { kind: 'output'; value: Expression }
  | { kind: 'if'; branches: { test: Expression; body: Statement[] }[]; otherwise: Statement[] }
  | {
      kind: 'for';
      target: Target;
      over: Expression;
      test: Expression | null;
      recursive: boolean;
      body: Statement[];
      otherwise: Statement[];
    }
  | { kind: 'set'; target: Target; value: Expression }
  | { kind: 'set block'; target: Target; filter: Expression | null; body: Statement[] }
  | { kind: 'with'; values: { target: Target; value: Expression }[]; body: Statement[] }
  | ({ kind: 'macro'; name: string } & MacroBody)
  /** `{% call %}`; `{% generation %}` is one whose call gives the body. */
  | ({ kind: 'call block'; call: Extract<Expression, { kind: 'call' }> | null } & MacroBody)
  | { kind: 'filter block'; filter: Expression; body: Statement[] }
  | { kind: 'block'; scoped: boolean; body: Statement[] }
  | { kind: 'break' | 'continue' }
  /** A statement that only raises when it is reached. */
  | { kind: 'refuse'; what: string };
