// Compiles grammars in other threads so that no request waits behind another one's slow grammar. Work is counted in steps
// (grammar/bounds/compile-work.ts), never in time, so a busy machine changes neither the order nor what is refused.
//
// - A few grammars compile at once (RUNNING). Where more are asked for, they take turns of TURN_STEPS, and the turn goes to the one with
//   the least work done, for its client and for itself (grammar-jobs.ts). A new grammar therefore begins at once, in place of the
//   running one with the most work, and a small one is complete before large ones that came first.
// - A grammar whose turn is over pauses within its thread (compile-turn.ts), so its work is not lost.
// - Each begun grammar keeps memory, so that there are few threads (grammar-threads.ts). One of them is free for new grammars: where one
//   takes it and is not complete at its first report, the grammar with the most work is set back, to begin again later. So it is
//   where one without a thread has done less work. To bound the work that is lost, a grammar keeps its thread until it has done twice
//   the work that it lost before.
// - Where the heaps of begun grammars exceed MOST_HEAP, the paused one with the largest is set back, until there is room for it.
// - A thread that ends, for its heap or otherwise, is started again at once, and a spare one before it is needed.

import { badRequest, EngineError } from '../../../files/error.ts';
import { onAbort } from '../../async/abort-listeners.ts';
import type { Port } from '../../platform/port.ts';
import { withResolvers, type PromiseWithResolvers } from '../../async/resolvers.ts';
import { after, cancelled, type TaskThread } from '../../platform/task-thread.ts';
import { compareWork, GrammarJob, inOrder, TURN_STEPS, type Client } from './grammar-jobs.ts';
import type { CompiledSource, GrammarSource } from './grammar-source.ts';
import { GRAMMAR_MEMORY, GrammarThreads, MOST_HEAP, noteHeap, RUNNING } from './grammar-threads.ts';
import type { CompileReport, TextTask } from './text-tasks.ts';

/** Milliseconds after which a request gets an error because the machine is too busy. */
export const GUARD = 60_000;

export class GrammarScheduler {
  readonly #threads: GrammarThreads;
  readonly #jobs = new Set<GrammarJob>();
  readonly #clients = new Map<string, Client>();
  #asked = 0;

  /** `connect` starts a thread with a heap limit in MiB. */
  constructor(connect: (memory: number) => Port) {
    this.#threads = new GrammarThreads(connect, () => this.#schedule());
  }

  /**
   * `client`: who shares turns with whom; null: the grammar alone. Throws EngineErrors: bad_request, timed_out where the machine is too
   * busy, and cancelled where `signal` aborts.
   */
  async compile(
    source: GrammarSource,
    available: Uint8Array,
    { signal, client = null }: { signal: AbortSignal; client?: string | null },
  ): Promise<CompiledSource> {
    if (signal.aborted) throw cancelled();
    const answer = withResolvers<CompiledSource>();
    const job = new GrammarJob({ source, available, client: this.#enter(client) }, answer, this.#asked++);
    this.#jobs.add(job);
    const stopListening = onAbort(signal, () => this.#leave(job, cancelled()));
    const stopGuard = after(GUARD, () => this.#leave(job, tooBusy()));
    this.#schedule();
    try {
      return await answer.promise;
    } finally {
      stopListening();
      stopGuard();
      this.#exit(client, job.client);
    }
  }

  #enter(name: string | null): Client {
    const client = (name !== null && this.#clients.get(name)) || { spent: 0, grammars: 0 };
    client.grammars++;
    if (name !== null) this.#clients.set(name, client);
    return client;
  }

  #exit(name: string | null, client: Client): void {
    if (--client.grammars === 0 && name !== null) this.#clients.delete(name);
  }

  #leave(job: GrammarJob, error: EngineError): void {
    if (job.state === 'ended') return;
    this.#finish(job, (answer) => answer.reject(error));
    job.thread?.abandon();
    this.#schedule();
  }

  #finish(job: GrammarJob, say: (answer: PromiseWithResolvers<CompiledSource>) => void): void {
    job.state = 'ended';
    this.#jobs.delete(job);
    say(job.answer);
  }

  /** Gives the free turns away, in place of running jobs with more work where need be, and limits the turns while others wait. */
  #schedule(): void {
    for (const job of this.#ready()) {
      if (!job.isReady) continue; // the end of another job's thread has started it meanwhile
      const running = this.#running();
      const replaced = running.length < RUNNING ? undefined : running.at(-1);
      if (replaced !== undefined && compareWork(job, replaced) >= 0) break;
      if (this.#run(job) && replaced !== undefined) pause(replaced);
    }
    const isContended = this.#ready().length > 0;
    for (const job of this.#running()) limitTurn(job, isContended);
  }

  #ready(): GrammarJob[] {
    return inOrder([...this.#jobs].filter(({ isReady }) => isReady));
  }

  #running(): GrammarJob[] {
    return inOrder([...this.#jobs].filter(({ state }) => state === 'running'));
  }

  /** Gives a job its turn. Returns false where it has no thread. */
  #run(job: GrammarJob): boolean {
    if (job.thread === null && !this.#begin(job)) return false;
    job.state = 'running';
    job.turnEnd = Infinity;
    return true;
  }

  /** Returns false where there is no thread for the job, or no memory. */
  #begin(job: GrammarJob): boolean {
    if (!this.#threads.hasRoom(job.heap)) return false;
    const thread = this.#threads.find(job.isNew);
    if (thread === null) this.#freeThread(job);
    else this.#beginIn(thread, job);
    return thread !== null;
  }

  #beginIn(thread: TaskThread, job: GrammarJob): void {
    const { source, available, turn } = job;
    const task: TextTask = { kind: 'compile', source, available, turn: turn.memory };
    const answer = withResolvers<unknown>();
    job.thread = thread;
    thread.begin({
      task,
      answer,
      onReport: (report) => this.#report(job, thread, report as CompileReport),
      ...(turn.memory !== null && { stop: () => turn.stop() }),
    });
    answer.promise.then(
      (result) => this.#settle(job, (asked) => asked.resolve(result as CompiledSource)),
      (error: unknown) => {
        if (job.state === 'stopping') job.setBack();
        else this.#settle(job, (asked) => asked.reject(refusal(error)));
        this.#schedule();
      },
    );
  }

  #settle(job: GrammarJob, say: (answer: PromiseWithResolvers<CompiledSource>) => void): void {
    if (job.state === 'ended') return;
    this.#finish(job, say);
    this.#schedule();
  }

  /** Sets the job back that has the most work, and more than `job`; one at a time. */
  #freeThread(job: GrammarJob): void {
    const begun = this.#begun();
    if (begun.some(({ state }) => state === 'stopping')) return;
    const victim = begun.findLast((each) => each.isDue && compareWork(job, each) < 0);
    if (victim !== undefined) setBack(victim);
  }

  /** Sets the job back that has the most work where no thread is free for a new one, and none is about to be. */
  #restoreReserve(): void {
    const begun = this.#begun();
    if (this.#threads.hasReserve || begun.some(({ state, isNew }) => state === 'stopping' || isNew)) return;
    const victim = begun.findLast(({ isDue }) => isDue);
    if (victim !== undefined) setBack(victim);
  }

  /** Sets paused jobs back, the one with the largest heap first, until the heaps are small enough. */
  #limitHeap(): void {
    const paused = [...this.#jobs].filter(({ state }) => state === 'paused');
    for (const job of paused.toSorted((a, b) => b.thread!.heap - a.thread!.heap)) {
      if (this.#threads.heap <= MOST_HEAP) return;
      const thread = job.thread!;
      job.heap = thread.heap;
      setBack(job);
      thread.renew();
    }
  }

  #begun(): GrammarJob[] {
    return inOrder([...this.#jobs].filter(({ thread }) => thread !== null));
  }

  #report(job: GrammarJob, thread: TaskThread, { steps, heap }: CompileReport): void {
    noteHeap(thread, heap);
    job.report(steps);
    if (job.state === 'ended') return;
    if (job.state === 'running' && steps >= job.turnEnd) job.state = 'paused';
    this.#restoreReserve();
    this.#limitHeap();
    this.#threads.startSpare();
    this.#schedule();
  }
}

/** Ends the job's task; it begins again later. */
function setBack(job: GrammarJob): void {
  job.state = 'stopping';
  job.keepsUntil = Math.max(job.keepsUntil, 2 * job.progress);
  job.thread!.abandon();
}

/** The job waits from now on, even before its thread has read it. */
function pause(job: GrammarJob): void {
  job.state = 'paused';
  job.turn.grant(0);
}

function limitTurn(job: GrammarJob, isContended: boolean): void {
  if (!isContended) job.turnEnd = Infinity;
  // A grammar that has done much already takes longer turns, which costs fewer changes.
  else if (job.turnEnd === Infinity) job.turnEnd = job.progress + Math.max(TURN_STEPS, job.progress / 4);
  job.turn.grant(job.turnEnd);
}

/** The error of a grammar whose thread was ended. Errors of the compiler itself name a parameter and stay unchanged. */
function refusal(error: unknown): Error {
  if (!(error instanceof EngineError) || error.param !== null) return error as Error;
  if (error.code === 'timed_out') return tooBusy();
  if (error.code !== 'out_of_memory') return error;
  const message = `the grammar takes more than ${GRAMMAR_MEMORY} MiB to compile: make it smaller`;
  return badRequest(message, 'constraint', error);
}

function tooBusy(): EngineError {
  const message = `the grammar was not compiled within ${GUARD / 1000} s, since the machine is busy: send the request again later`;
  return new EngineError('timed_out', message, { param: 'constraint' });
}
