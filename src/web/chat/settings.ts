// The settings of a conversation: the fields of sampling, from the table of the engine's options, and those that shape the reply.

import { EFFORTS } from '../../options/conversation.ts';
import { fieldName, type Kind, type Setting } from '../../options/setting.ts';
import { SAMPLING } from '../../options/text-request.ts';

/** Values as they were typed; a field that is left out has the model's own value. */
export interface SettingValues {
  system?: string;
  /** By the names of a request's fields. */
  fields?: Record<string, string>;
  /** An effort, or `on`; left out: what the model does. */
  reasoning?: string;
  /** A JSON Schema that replies keep to. */
  schema?: string;
}

export interface Field {
  name: string;
  kind: Kind;
  help: string;
  fallback: string;
}

/** Choices are separate branches here, and biases are written by programs. */
const LEFT_OUT = new Set(['n', 'logitBias']);

const sampling = Object.entries<Setting>(SAMPLING)
  .filter(([name]) => !LEFT_OUT.has(name))
  .map(([name, setting]): Field => {
    const { kind, help } = setting;
    return { name: fieldName(name, setting, 'chat'), kind, help, fallback: shown(setting.default) };
  });

export const FIELDS: readonly Field[] = [
  ...sampling.slice(0, 4),
  {
    name: 'max_completion_tokens',
    kind: { type: 'integer', min: 1 },
    help: 'Most tokens to generate; clamped to what the context leaves.',
    fallback: '',
  },
  ...sampling.slice(4),
];

export const REASONING_CHOICES: readonly string[] = ['on', ...EFFORTS];

/** A default as text. */
export function shown(value: unknown): string {
  return value === undefined ? '' : JSON.stringify(value);
}

/** Bounds in words: "0 to 2". */
export function boundsOf(kind: Kind): string {
  if (kind.type === 'list') return `one per line, at most ${kind.most}`;
  if (kind.type !== 'number' && kind.type !== 'integer') return '';
  const { min, max } = kind;
  const above = kind.type === 'number' ? kind.above : undefined;
  const least = min === undefined ? above !== undefined && `above ${above}` : `at least ${min}`;
  const most = max !== undefined && max < 2 ** 31 - 1 && `at most ${max}`;
  return [Math.abs(min ?? 0) < 2 ** 31 && least, most].filter(Boolean).join(', ');
}

/** Why a typed value cannot be sent; '' if it can. */
export function problemOf({ kind }: Field, text: string): string {
  if (text.trim() === '') return '';
  if (kind.type === 'number' || kind.type === 'integer') {
    const value = Number(text);
    const above = kind.type === 'number' ? kind.above : undefined;
    const fits =
      Number.isFinite(value) &&
      (kind.type === 'number' || Number.isSafeInteger(value)) &&
      value >= (kind.min ?? -Infinity) &&
      value <= (kind.max ?? Infinity) &&
      (above === undefined || value > above);
    return fits ? '' : `Enter ${kind.type === 'integer' ? 'a whole number' : 'a number'}, ${boundsOf(kind)}.`;
  }
  if (kind.type !== 'list') return '';
  const lines = linesOf(text);
  if (lines.length > (kind.most ?? Infinity)) return `At most ${kind.most} lines.`;
  const isIds = kind.of.type === 'tokenId';
  return isIds && !lines.every((line) => /^\d+$/.test(line)) ? 'Enter token ids, one per line.' : '';
}

const linesOf = (text: string): string[] => text.split('\n').filter((line) => line !== '');

function valueOf({ kind }: Field, text: string): unknown {
  if (kind.type === 'number' || kind.type === 'integer') return Number(text);
  if (kind.type === 'boolean') return text === 'true';
  const lines = linesOf(text);
  return kind.type === 'list' && kind.of.type === 'tokenId' ? lines.map(Number) : lines;
}

/** Why a JSON Schema cannot be sent; '' if it can. */
export function schemaProblem(text: string): string {
  if (text.trim() === '') return '';
  try {
    const schema: unknown = JSON.parse(text);
    return typeof schema === 'object' && schema !== null && !Array.isArray(schema)
      ? ''
      : 'A JSON Schema is an object, such as {"type": "object", "properties": {}}.';
  } catch (error) {
    return `This is not JSON: ${(error as Error).message}`;
  }
}

/** The first thing that keeps the settings from being sent; '' if nothing does. */
export function settingsProblem({ fields = {}, schema = '' }: SettingValues): string {
  for (const field of FIELDS) {
    const problem = problemOf(field, fields[field.name] ?? '');
    if (problem) return `${field.name}: ${problem}`;
  }
  return schemaProblem(schema);
}

/** The settings as members of a request. */
export function settingMembers({ fields = {}, reasoning, schema = '' }: SettingValues): object {
  const filled = FIELDS.filter(({ name }) => (fields[name] ?? '').trim() !== '');
  const json_schema = schema.trim() !== '' && { name: 'reply', schema: JSON.parse(schema) as object };
  return {
    ...Object.fromEntries(filled.map((field) => [field.name, valueOf(field, fields[field.name]!)])),
    ...(reasoning === 'on' && { reasoning: { enabled: true } }),
    ...(reasoning !== undefined && reasoning !== 'on' && { reasoning_effort: reasoning }),
    ...(json_schema && { response_format: { type: 'json_schema', json_schema } }),
  };
}
