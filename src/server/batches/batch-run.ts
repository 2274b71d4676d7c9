// Runs a batch: its requests go through the server's own routes, a few at once; replies are written as they come, so that a server that starts
// again goes on after the last of them.

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { isObject } from '../body/fields.ts';
import type { FileRecord } from '../files/file-reply-schema.ts';
import { type Caller, inName } from '../service/caller.ts';
import type { Service } from '../service/service.ts';
import { type BatchRequest, readBatchInput } from './batch-input.ts';
import type { BatchRecord } from './batch-reply-schema.ts';
import { type Batch, type BatchStore, INTERRUPTED } from './batch-store.ts';

/** Requests of a batch that run at once; the engine puts them into one step with those of other clients. */
const AT_ONCE = 16;
/** Header of refusals after which the same request may succeed: too many requests, a model that is being opened. Milliseconds. */
const RETRY_AFTER = 'retry-after-ms';
const MOST_WAIT = 60_000;
/** The reason of aborts at the end of the completion window. */
const EXPIRED = 'expired';

const now = (): number => Math.floor(Date.now() / 1000);

/** Runs a batch to its end, or until the server stops. Never throws: what fails is the batch. */
export async function runBatch(service: Service, store: BatchStore, batch: Batch): Promise<void> {
  const run = new BatchRun(service, store, batch);
  try {
    await run.run();
  } catch (error) {
    service.log.error(`${batch.record.id}: ${String(error)}`);
    const message = error instanceof Error ? error.message : String(error);
    const data = [{ code: 'batch_failed', message, param: null, line: null }];
    Object.assign(batch.record, { status: 'failed', failed_at: now(), errors: { object: 'list', data } });
    await store.save(batch.record).catch((unsaved: unknown) => service.log.error(unsaved));
  } finally {
    batch.abort = null;
  }
}

class BatchRun {
  readonly #service: Service;
  readonly #store: BatchStore;
  readonly #batch: Batch;
  readonly #signal: AbortSignal;
  /** Writes replies one after the other. */
  #writing: Promise<void> = Promise.resolve();

  constructor(service: Service, store: BatchStore, batch: Batch) {
    this.#service = service;
    this.#store = store;
    this.#batch = batch;
    this.#signal = batch.abort!.signal;
  }

  get #record(): BatchRecord {
    return this.#batch.record;
  }

  async run(): Promise<void> {
    const record = this.#record;
    const input = await this.#store.files.find(record.input_file_id);
    const text = input && (await this.#store.files.text(input));
    const { requests, errors } = await readBatchInput(text ?? '', record.endpoint);
    if (errors.length > 0) {
      Object.assign(record, { status: 'failed', failed_at: now(), errors: { object: 'list', data: errors } });
      return this.#store.save(record);
    }
    const done = await this.#done();
    record.request_counts.total = requests.length;
    if (record.status === 'validating')
      Object.assign(record, { status: 'in_progress', in_progress_at: now() });
    await this.#store.save(record);
    const left = requests.filter(({ customId }) => !done.has(customId)).values();
    const expire = (): void => this.#batch.abort?.abort(EXPIRED);
    const expiry = setTimeout(expire, Math.max(0, 1000 * record.expires_at - Date.now())).unref();
    try {
      await Promise.all(Array.from({ length: AT_ONCE }, () => this.#work(left)));
      await this.#end(left);
    } finally {
      clearTimeout(expiry);
      // Where one worker failed, the others end, too.
      this.#batch.abort?.abort(INTERRUPTED);
    }
  }

  /** Ids of the requests that an earlier server has answered. */
  async #done(): Promise<Set<string>> {
    const { output_file_id: output, error_file_id: failed } = this.#record;
    const ids = new Set<string>();
    const counts = { completed: 0, failed: 0 };
    for (const [id, count] of [
      [output, 'completed'],
      [failed, 'failed'],
    ] as const) {
      const file = id === null ? null : await this.#store.files.find(id);
      if (!file) continue;
      for (const line of await this.#store.files.wholeLines(file)) {
        ids.add((JSON.parse(line) as { custom_id: string }).custom_id);
        counts[count] += 1;
      }
    }
    Object.assign(this.#record.request_counts, counts);
    return ids;
  }

  async #work(left: Iterable<BatchRequest>): Promise<void> {
    for (const request of left) {
      await this.#answer(request);
      // The iterator is shared: another worker, or the next server, takes the rest.
      if (this.#signal.aborted || this.#service.stopping) return;
    }
  }

  async #answer(request: BatchRequest): Promise<void> {
    for (;;) {
      if (this.#signal.aborted || this.#service.stopping) return this.#unanswered(request);
      const caller = this.#caller();
      const id = `batch_req_${randomUUID()}`;
      const response = await this.#send(request, id, caller);
      const body: unknown = await response.json().catch(() => null);
      if (this.#signal.aborted) return this.#unanswered(request);
      if (this.#service.stopping && response.status >= 400) return;
      const wait = response.headers.get(RETRY_AFTER);
      if (wait !== null) {
        await sleep(Math.min(Number(wait), MOST_WAIT), null, { signal: this.#signal }).catch(() => {});
        continue;
      }
      const isFine = response.ok;
      this.#countUsage(body);
      const reply = { status_code: response.status, request_id: id, body };
      await this.#write(isFine, { id, custom_id: request.customId, response: reply, error: null });
      return;
    }
  }

  /** Who started the batch, with what the key may use now. Throws where the key is withdrawn. */
  #caller(): Caller {
    const { owner } = this.#record;
    if (owner === '') return { name: 'batch', admin: false, models: null, limits: null };
    const caller = this.#service.callerNamed(owner);
    if (!caller) throw new Error(`the key ${owner}, which started the batch, is withdrawn or has expired`);
    return { ...caller, admin: false };
  }

  #send({ body }: BatchRequest, id: string, caller: Caller): Promise<Response> {
    const { endpoint } = this.#record;
    const request = new Request(`http://localhost${endpoint}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-request-id': id },
      body: JSON.stringify(body),
      signal: this.#signal,
    });
    return this.#service.dispatch(inName(caller, request));
  }

  /** A request that ran out of time gets an error; one that was cancelled, none. */
  async #unanswered({ customId }: BatchRequest): Promise<void> {
    if (this.#signal.reason !== EXPIRED) return;
    const error = {
      code: 'batch_expired',
      message: 'the request was not answered within the completion window',
    };
    await this.#write(false, { id: `batch_req_${randomUUID()}`, custom_id: customId, response: null, error });
  }

  #countUsage(body: unknown): void {
    if (!isObject(body) || !isObject(body['usage'])) return;
    const { usage: of } = body as { usage: Record<string, unknown> };
    const { usage } = this.#record;
    const countOf = (...names: string[]): number =>
      names.map((name) => of[name]).find((value) => typeof value === 'number') ?? 0;
    usage.input_tokens += countOf('prompt_tokens', 'input_tokens');
    usage.output_tokens += countOf('completion_tokens', 'output_tokens');
    usage.total_tokens = usage.input_tokens + usage.output_tokens;
  }

  /** Writes a line of the output, or of the file of errors, and counts it. */
  #write(isFine: boolean, line: object): Promise<void> {
    const write = async (): Promise<void> => {
      const file = await this.#file(isFine);
      await this.#store.files.append(file, `${JSON.stringify(line)}\n`);
      this.#record.request_counts[isFine ? 'completed' : 'failed'] += 1;
    };
    this.#writing = this.#writing.then(write);
    return this.#writing;
  }

  /** The output or the file of errors, made at its first line. */
  async #file(isFine: boolean): Promise<FileRecord> {
    const member = isFine ? 'output_file_id' : 'error_file_id';
    const record = this.#record;
    const id = record[member];
    const known = id === null ? null : await this.#store.files.find(id);
    if (known) return known;
    const filename = `${record.id}_${isFine ? 'output' : 'error'}.jsonl`;
    const made = await this.#store.files.add({ filename, purpose: 'batch_output', owner: record.owner }, '');
    record[member] = made.id;
    await this.#store.save(record);
    return made;
  }

  async #end(left: Iterable<BatchRequest>): Promise<void> {
    const record = this.#record;
    if (this.#signal.reason === EXPIRED) {
      for (const request of left) await this.#unanswered(request);
      Object.assign(record, { status: 'expired', expired_at: now() });
    } else if (this.#signal.aborted && this.#signal.reason !== INTERRUPTED)
      Object.assign(record, { status: 'cancelled', cancelled_at: now() });
    // A batch that the server's end interrupts stays in progress: a later server goes on with it.
    else if (!this.#service.stopping && !this.#signal.aborted)
      Object.assign(record, { status: 'completed', finalizing_at: now(), completed_at: now() });
    await this.#store.save(record);
  }
}
