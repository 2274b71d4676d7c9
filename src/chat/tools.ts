// The tools of a conversation: functions of the program, with schemas of their arguments.

import { badRequest } from '../files/error.ts';
import type { Tool } from '../engine/text/calls/text-model.ts';
import { jsonSchemaOf, type Schema, type ValueOf } from './schema.ts';

export interface ToolContext {
  /** Aborts with the reply, and after the time that the tool has. */
  readonly signal: AbortSignal;
  /** Id of the call. */
  readonly id: string;
}

export interface ToolDefinition<S extends Schema = Schema> {
  /** What the tool does, for the model. */
  description?: string;
  /** Schema of the arguments: an object. */
  schema: S;
  /** Milliseconds that `run` has; then its signal aborts, and the model is told. Default: the session's `toolTimeout`. */
  timeout?: number;
  /** Computes the result, which the model gets as text: a string as it is, any other value as JSON. The model is told of errors. */
  run(args: ValueOf<S>, context: ToolContext): unknown;
}

/** Tools by the schemas of their arguments, by name. */
export type ToolsOf<Schemas extends Record<string, Schema>> = {
  readonly [Name in keyof Schemas]: ToolDefinition<Schemas[Name]>;
};

/** Any tools; arguments are not typed. */
export type AnyTools = Readonly<Record<string, AnyTool>>;
export type AnyTool = Omit<ToolDefinition, 'run'> & { run(args: never, context: ToolContext): unknown };

/** Returns a tool unchanged: the types of its arguments are inferred from its schema. */
export function tool<const S extends Schema>(definition: ToolDefinition<S>): ToolDefinition<S> {
  return definition;
}

const MEMBERS = new Set(['description', 'schema', 'timeout', 'run']);

/** The tools in the form of a prompt. Throws bad_request. */
export function promptTools(tools: AnyTools): Tool[] {
  if (typeof tools !== 'object' || tools === null || Array.isArray(tools))
    throw badRequest(
      'tools is an object of name → tool: give one, such as { weather: tool({ schema, run }) }',
      'tools',
    );
  return Object.entries(tools).map(([name, one]) => {
    const param = `tools.${name}`;
    if (typeof one !== 'object' || one === null || typeof one.run !== 'function')
      throw badRequest(`${param} has no run: give an object with schema and run`, param);
    const unknown = Object.keys(one).find((member) => !MEMBERS.has(member));
    if (unknown !== undefined)
      throw badRequest(`${param} has ${unknown}, which tools do not have: leave it out`, param);
    if (one.timeout !== undefined) checkTime(one.timeout, `${param}.timeout`);
    const parameters = jsonSchemaOf(one.schema, `${param}.schema`);
    const { description } = one;
    return {
      type: 'function',
      function: { name, ...(description !== undefined && { description }), parameters },
    };
  });
}

/** Throws bad_request for what is not a number of milliseconds that a timer takes. */
export function checkTime(value: unknown, param: string): void {
  if (!(Number.isInteger(value) && (value as number) > 0 && (value as number) < 2 ** 31))
    throw badRequest(`${param} is ${String(value)}: give whole milliseconds, 1 to 2147483647`, param);
}
