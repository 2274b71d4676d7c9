// Worker threads of Node, and their two ends as ports.

import { type parentPort, SHARE_ENV, Worker, type WorkerOptions } from 'node:worker_threads';
import { EngineError, internalError } from '../../files/error.ts';
import type { Port } from '../../engine/platform/port.ts';

/**
 * Runs a file of this program, given by its URL, in a thread. The environment is shared, because otherwise driver settings would
 * not reach the driver's C code.
 */
export function startThread(url: string, given: WorkerOptions): Worker {
  return new Worker(new URL(builtUrl(url)), { ...given, env: SHARE_ENV });
}

/**
 * The file that a thread loads in place of a source file: a thread of Node 20 cannot load TypeScript, and a program that runs from the sources, as
 * tests do, starts threads of the build.
 */
export function builtUrl(url: string): string {
  return url.replace(/\/src\/(host\/.*)\.ts$/, '/dist/$1.js');
}

/** The port of a thread, for the thread that started it or for the thread itself. */
export function portOf(end: Worker | NonNullable<typeof parentPort>): Port {
  return {
    post: (message) => end.postMessage(message),
    onMessage: (listener) => void end.on('message', listener),
    end: () => {
      if (end instanceof Worker) void end.terminate();
    },
    hold: (waits) => (waits ? end.ref() : end.unref()),
    onLost(listener) {
      if (!(end instanceof Worker)) return;
      end.on('error', (cause) => {
        const isMemory = (cause as NodeJS.ErrnoException).code === 'ERR_WORKER_OUT_OF_MEMORY';
        const code = isMemory ? 'out_of_memory' : 'internal';
        listener(new EngineError(code, `a thread of the engine failed: ${cause.message}`, { cause }));
      });
      end.on('exit', (code) =>
        listener(internalError(`a thread of the engine ended with code ${code}: open the model again`)),
      );
    },
  };
}
