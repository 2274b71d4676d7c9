// The input of a batch: JSON Lines, each a request with an id of its own. All of it is checked before anything runs.

import { setImmediate as nextTurn } from 'node:timers/promises';
import { z } from 'zod';
import type { BatchRecord } from './batch-reply-schema.ts';

/** Routes whose requests a batch may hold. */
export const BATCH_ENDPOINTS = [
  '/v1/chat/completions',
  '/v1/completions',
  '/v1/responses',
  '/v1/embeddings',
  '/v1/images/generations',
] as const;

const MOST_LINES = 50_000;
/** Lines that are parsed at a time. */
const AT_A_TIME = 200;
/** Errors that are listed; the rest of the input is not read then. */
const MOST_ERRORS = 100;

export interface BatchRequest {
  customId: string;
  body: Record<string, unknown>;
}

type BatchError = NonNullable<BatchRecord['errors']>['data'][number];

const LINE = z.object({
  custom_id: z.string().min(1).max(512),
  method: z.literal('POST'),
  url: z.string(),
  body: z.record(z.string(), z.unknown()),
});

/** Returns the requests of an input, or, if `errors` is not empty, what is wrong with it. Other requests of the server go on meanwhile. */
export async function readBatchInput(
  text: string,
  endpoint: string,
): Promise<{ requests: BatchRequest[]; errors: BatchError[] }> {
  const requests: BatchRequest[] = [];
  const errors: BatchError[] = [];
  const seen = new Map<string, number>();
  const report = (line: number | null, code: string, message: string, param: string | null = null): void =>
    void errors.push({ code, message, param, line });
  for (const [index, source] of text.split('\n').entries()) {
    const line = index + 1;
    if (line % AT_A_TIME === 0) await nextTurn();
    if (source.trim() === '') continue;
    if (errors.length >= MOST_ERRORS) break;
    const { value, problem } = parseLine(source);
    if (!value) {
      report(line, 'invalid_request', problem.message, problem.param);
      continue;
    }
    const { custom_id: customId, url, body } = value;
    const before = seen.get(customId);
    if (url !== endpoint)
      report(line, 'mismatched_url', `url is ${url}, and the batch is for ${endpoint}`, 'url');
    else if (before !== undefined)
      report(
        line,
        'duplicate_custom_id',
        `custom_id ${customId} is that of line ${before}, too`,
        'custom_id',
      );
    else if (body['stream'] === true)
      report(line, 'invalid_request', 'body.stream is true; a batch holds whole replies', 'body.stream');
    seen.set(customId, line);
    requests.push({ customId, body });
  }
  if (requests.length === 0 && errors.length === 0)
    report(null, 'empty_file', 'the input has no line; write one request on each');
  if (requests.length > MOST_LINES)
    report(
      null,
      'too_many_requests',
      `the input has ${requests.length} requests; ${MOST_LINES} are the most`,
    );
  return { requests, errors };
}

type Parsed =
  | { value: z.infer<typeof LINE>; problem?: never }
  | { value?: never; problem: { message: string; param: string | null } };

function parseLine(source: string): Parsed {
  let json: unknown;
  try {
    json = JSON.parse(source);
  } catch (error) {
    return { problem: { message: `the line is not JSON (${String(error)})`, param: null } };
  }
  const { data, error } = LINE.safeParse(json);
  if (data) return { value: data };
  const issue = error.issues[0]!;
  const param = issue.path.join('.') || null;
  return { problem: { message: `${param ?? 'the line'}: ${issue.message}`, param } };
}
