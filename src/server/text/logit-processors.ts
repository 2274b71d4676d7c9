// custom_logit_processor: JSON text that selects a built-in processor. Other servers accept a program here.

import { z } from 'zod';
import { LIMITS, type LogitProcessor } from '../../index.ts';
import { PROCESSOR } from '../../options/conversation.ts';
import { list } from '../body/bounded.ts';
import { shapeSchema } from '../body/setting-fields.ts';
import { fieldError, RequestError } from '../http/errors.ts';
import { isObject, show } from '../body/fields.ts';
import { parseJson } from '../body/json-text.ts';
import { toRequestError } from '../body/request-error.ts';

const processor = shapeSchema(PROCESSOR);

type Name = LogitProcessor['name'];

/** Members that custom_params may provide, by our names and by SGLang's. */
const PARAMS: Record<Name, Record<string, readonly string[]>> = {
  allowed_tokens: { tokens: ['tokens', 'token_ids'] },
  disallowed_tokens: { tokens: ['tokens', 'token_ids'] },
  thinking_budget: { tokens: ['tokens', 'thinking_budget'] },
  no_repeat_ngram: { size: ['size', 'ngram_size'], window: ['window', 'window_size'] },
  bad_words: { words: ['words'] },
  wgsl: { source: ['source'] },
};

const FIELD = 'custom_logit_processor';
const EXAMPLE = '{"name":"bad_words","words":["never"]}';

interface ProcessorFields {
  custom_logit_processor?: string | undefined;
  custom_params?: Record<string, unknown> | undefined;
  allowed_token_ids?: number[] | undefined;
  bad_words?: string[] | undefined;
}

export function toProcessors(body: ProcessorFields): LogitProcessor[] | undefined {
  const { allowed_token_ids, bad_words, custom_params = {} } = body;
  const named = body.custom_logit_processor === undefined ? [] : parse(body.custom_logit_processor);
  // Clients of SGLang's built-in processor send only a budget.
  const given =
    named.length > 0 || !('thinking_budget' in custom_params) ? named : [{ name: 'thinking_budget' }];
  const used = new Set<string>();
  const filled = given.map((entry) => fill(entry, custom_params, used));
  const unused = Object.keys(custom_params).find((name) => !used.has(name));
  if (unused !== undefined) {
    throw new RequestError(
      'unsupported',
      `custom_params.${unused} means nothing to ${given.length > 0 ? FIELD : `a request without ${FIELD}`}; leave it out`,
      { param: `custom_params.${unused}` },
    );
  }
  const processors: LogitProcessor[] = [
    ...check(filled),
    ...(allowed_token_ids ? [{ name: 'allowed_tokens' as const, tokens: allowed_token_ids }] : []),
    ...(bad_words ? [{ name: 'bad_words' as const, words: bad_words }] : []),
  ];
  return processors.length > 0 ? processors : undefined;
}

/** Returns the field that selected the processors: custom_logit_processor, or custom_params if only a budget was sent. */
export function processorField(body: ProcessorFields): string {
  return body.custom_logit_processor === undefined ? 'custom_params.thinking_budget' : FIELD;
}

/** Maps the engine's paths into the processors to paths in the request. */
export function processorPaths(body: ProcessorFields): [engine: string, field: string][] {
  const own: [string, string][] = [
    ...(body.allowed_token_ids ? [['tokens', 'allowed_token_ids'] as [string, string]] : []),
    ...(body.bad_words ? [['words', 'bad_words'] as [string, string]] : []),
  ];
  const named = (toProcessors(body) ?? []).length - own.length;
  return [
    ...own.map(([member, name], at): [string, string] => [`processors.${named + at}.${member}`, name]),
    ['processors', named > 0 ? processorField(body) : (own[0]?.[1] ?? FIELD)],
  ];
}

function parse(text: string): unknown[] {
  let value: unknown;
  try {
    value = parseJson(Buffer.from(text), FIELD);
  } catch {
    throw refused(`must be JSON text as ${EXAMPLE}, got ${show(text)}`);
  }
  const entries: unknown[] = Array.isArray(value) ? value : [value];
  if (entries.length > LIMITS.processors) throw refused(`must have at most ${LIMITS.processors} entries`);
  if (entries.some((entry) => isObject(entry) && 'callable' in entry)) {
    throw refused(
      `holds a pickled Python class, and this server runs none; name a built-in processor: ${Object.keys(PARAMS).join(', ')}, as ${EXAMPLE}`,
      'unsupported',
    );
  }
  return entries;
}

function fill(entry: unknown, params: Record<string, unknown>, used: Set<string>): unknown {
  const members =
    isObject(entry) && typeof entry['name'] === 'string' ? PARAMS[entry['name'] as Name] : undefined;
  if (!isObject(entry) || !members) return entry;
  const filled = { ...entry };
  for (const [member, names] of Object.entries(members)) {
    const name = names.find((one) => one in params);
    if (member in entry || name === undefined) continue;
    filled[member] = params[name];
    used.add(name);
  }
  return filled;
}

function check(entries: unknown[]): LogitProcessor[] {
  for (const entry of entries) {
    const name = isObject(entry) ? entry['name'] : undefined;
    if (typeof name !== 'string' || !Object.hasOwn(PARAMS, name))
      throw refused(`must name one of ${Object.keys(PARAMS).join(', ')}, as ${EXAMPLE}, got ${show(entry)}`);
  }
  const body = { [FIELD]: entries };
  const parsed = z.object({ [FIELD]: list(processor, LIMITS.processors) }).safeParse(body);
  if (!parsed.success) throw toRequestError(parsed.error, body);
  return parsed.data[FIELD];
}

function refused(text: string, code: 'invalid_value' | 'unsupported' = 'invalid_value'): RequestError {
  return fieldError(FIELD, text, code);
}
