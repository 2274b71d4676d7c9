// Writes the calls of earlier turns into the content of a message, in the model's own format. This is for templates that omit calls:
// the templates of LFM2 and Granite do, and their models were trained on histories in which a call is text.

import type { Body, JsonBody, ToolFormat } from './format.ts';
import { JSON_CALLS } from './tool-formats.ts';

export interface WrittenCall {
  name: string;
  arguments: string | Record<string, unknown>;
}

/** Text of the calls. `format` null: the model has no format for calls, and JSON is used. */
export function writeCalls(calls: readonly WrittenCall[], format: ToolFormat | null): string {
  const known = format && callWriter(format.bodies[0]) ? format : JSON_CALLS;
  const { section, call = { begin: '', end: '' }, list, separators = [''], lineBreaks } = known;
  const line = lineBreaks ? '\n' : '';
  const write = callWriter(known.bodies[0])!;
  const around = (one: string): string => (known.call ? `${call.begin}${line}${one}${line}${call.end}` : one);
  const all = calls.map((one) => around(write(one))).join(list ? ', ' : separators[0] || '\n');
  const listed = list ? `[${all}]` : all;
  return section ? `${section.begin}${listed}${section.end}` : listed;
}

function callWriter(body: Body | undefined): ((call: WrittenCall) => string) | null {
  if (body?.kind === 'json') return (call) => jsonCall(call, body);
  return body?.kind === 'python' ? pythonCall : null;
}

function jsonCall({ name, arguments: given }: WrittenCall, body: JsonBody): string {
  return json(body.name === null ? { [name]: given } : { [body.name]: name, [body.arguments[0]!]: given });
}

function pythonCall({ name, arguments: given }: WrittenCall): string {
  if (typeof given === 'string') return `${name}(${given})`;
  const members = Object.entries(given).map(([key, value]) => `${key}=${python(value)}`);
  return `${name}(${members.join(', ')})`;
}

/** JSON with a space after each comma and colon, like Python's `json.dumps`. */
function json(value: unknown): string {
  return literal(value, JSON.stringify);
}

const WORDS = new Map<unknown, string>([
  [null, 'None'],
  [true, 'True'],
  [false, 'False'],
]);

function python(value: unknown): string {
  return literal(value, (plain) => WORDS.get(plain) ?? JSON.stringify(plain));
}

function literal(value: unknown, plain: (value: unknown) => string): string {
  if (Array.isArray(value)) return `[${value.map((one) => literal(one, plain)).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return plain(value);
  const members = Object.entries(value).map(([key, one]) => `${JSON.stringify(key)}: ${literal(one, plain)}`);
  return `{${members.join(', ')}}`;
}
