// Draws the images or clips of a run prompt by prompt and saves each as soon as it is finished. A prompt that fails, or an image that
// cannot be saved, does not stop the others.

import { EngineError, type ImageEvent } from '../../index.ts';
import { asTyped } from './generate-names.ts';
import { type Sources, toImageRequests } from './generate-request.ts';
import type { ResolvedEvent } from './generate-resolved.ts';
import type { Run, Task } from './generate-run.ts';
import { savePreview, saveOutput } from './generate-save.ts';

/**
 * Draws the prompts in order, with the requests behind each that the engine draws at once; returns the number that failed. What is drawn of later
 * prompts waits until the earlier ones are saved.
 */
export async function drawPrompts(run: Run, resolved: ResolvedEvent, sources: Sources): Promise<number> {
  const { plan, report, perf } = run;
  const tasks = plan.prompts.map((prompt, index): Task => ({ index, prompt, resolved, sources }));
  const requests = tasks.map((task) => requestsOf(run, task));
  const queue = new RequestQueue(requests.flat(), requestsAtOnce(run, resolved));
  let failed = 0;
  try {
    for (const [index, task] of tasks.entries()) {
      report.prompt(index, tasks.length, task.prompt, plan.seeds);
      try {
        if (!(await drawPrompt(run, task, queue, requests[index]!.length))) failed += 1;
      } catch (error) {
        if (endsTheRun(error)) {
          if (!isCancelled(error)) perf.failed(failureOf(index, asTyped(error, plan.given)));
          throw error;
        }
        reportFailure(run, index, asTyped(error, plan.given));
        failed += 1;
        await queue.skip(index);
        // Requests that were drawn together with the failed one begin again on the device that is opened next.
        if (error instanceof EngineError && error.code === 'device_lost') await queue.leave();
      }
    }
  } finally {
    await queue.leave();
  }
  return failed;
}

/** Requests whose results the engine draws at once; with a profile, or with previews, which would wait in memory, one for each replica. */
function requestsAtOnce({ plan }: Run, { joins, values }: ResolvedEvent): number {
  const { 'perf-dump-path': perf, preview, 'dp-size': replicas = 1 } = plan.given.options;
  if (!joins || perf !== undefined || preview) return replicas;
  // Several seeds are requests of their own.
  const samples = plan.seeds.length > 1 ? 1 : values.samples;
  return Math.max(replicas, Math.floor((replicas * joins.most) / samples));
}

type Events = AsyncGenerator<ImageEvent, void, void>;

/** A request of a prompt, by its index. */
interface Asked {
  prompt: number;
  /** Returns what is drawn, whose samples are numbered consecutively over the requests of the prompt. */
  events(): Events;
}

/** A request that is drawn before its events are read. */
interface Begun {
  asked: Asked;
  first: Promise<IteratorResult<ImageEvent, void>>;
  events: Events;
}

/** Requests in their order; those that are drawn at once are begun together. */
class RequestQueue {
  #waiting: Asked[];
  #begun: Begun[] = [];
  readonly #atOnce: number;

  constructor(requests: readonly Asked[], atOnce: number) {
    this.#waiting = [...requests];
    this.#atOnce = atOnce;
  }

  /** Returns the events of the next request. */
  next(): Events {
    if (this.#begun.length === 0) this.#begun = this.#waiting.splice(0, this.#atOnce).map(begin);
    return read(this.#begun.shift()!);
  }

  /** Drops the requests of a prompt that are left. */
  async skip(prompt: number): Promise<void> {
    this.#waiting = this.#waiting.filter((one) => one.prompt !== prompt);
    const dropped = this.#begun.filter(({ asked }) => asked.prompt === prompt);
    this.#begun = this.#begun.filter(({ asked }) => asked.prompt !== prompt);
    await end(dropped);
  }

  /** Ends what is begun; it waits again. */
  async leave(): Promise<void> {
    const begun = this.#begun.splice(0);
    this.#waiting.unshift(...begun.map(({ asked }) => asked));
    await end(begun);
  }
}

function begin(asked: Asked): Begun {
  const events = asked.events();
  const first = events.next();
  first.catch(() => {}); // thrown where it is read
  return { asked, first, events };
}

async function end(begun: readonly Begun[]): Promise<void> {
  await Promise.all(begun.map(({ events }) => events.return()));
}

async function* read({ first, events }: Begun): Events {
  try {
    for (let one = await first; !one.done; one = await events.next()) yield one.value;
  } finally {
    await events.return();
  }
}

function reportFailure({ report, perf }: Run, prompt: number, error: unknown): void {
  const failure = failureOf(prompt, error);
  report.failed(prompt, failure.code, failure.message);
  perf.failed(failure);
}

function failureOf(prompt: number, error: unknown): { prompt: number; code: string; message: string } {
  const code = error instanceof EngineError ? error.code : 'internal';
  return { prompt, code, message: error instanceof Error ? error.message : String(error) };
}

function isCancelled(error: unknown): boolean {
  return error instanceof EngineError && error.code === 'cancelled';
}

/** Returns true if an error ends the whole run: the next prompt would fail too, or the run was cancelled. */
function endsTheRun(error: unknown): boolean {
  return (
    error instanceof EngineError &&
    ['bad_checkpoint', 'cancelled', 'out_of_memory', 'no_adapter'].includes(error.code)
  );
}

/** Draws and saves the images of a prompt. Returns false if one could not be saved; that failure is already reported. */
async function drawPrompt(run: Run, task: Task, queue: RequestQueue, requests: number): Promise<boolean> {
  const { report, perf } = run;
  let isSaved = true;
  let previews = true;
  for (let request = 0; request < requests; request++)
    for await (const event of queue.next()) {
      perf.event(task.index, event);
      report.event(event);
      if (event.type === 'image') {
        await saveOutput(run, task, event).catch((error: unknown) => {
          if (isCancelled(error)) throw error;
          reportFailure(run, task.index, error);
          isSaved = false;
        });
      }
      if (event.type === 'preview' && previews)
        previews = await savePreview(run, task.resolved.values, event);
    }
  return isSaved;
}

function requestsOf({ plan, model, interrupt: { signal } }: Run, task: Task): Asked[] {
  const profile = plan.given.options['perf-dump-path'] !== undefined;
  return toImageRequests(plan, task.prompt, task.sources).map((request, first): Asked => {
    async function* events(): Events {
      for await (const event of model.generate(request, { signal, profile }))
        yield 'sample' in event ? { ...event, sample: first + event.sample } : event;
    }
    return { prompt: task.index, events };
  });
}
