// A child process that opens one checkpoint after another. A checkpoint that ends it, or that takes longer or more memory than
// allowed, costs one process and no other checkpoint.

import { fork } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const CHILD = fileURLToPath(new URL('mutate-child.mjs', import.meta.url));
/** ms between two looks at the child's memory, where the system shows it. */
const WATCH = 100;

export class Lane {
  #child = null;
  #stderr = '';
  #env;

  constructor(env) {
    this.#env = env;
  }

  /** `{ output }`, `{ error }`, or `{ failed }` with what became of the process. `limits`: ms, bytes of memory. */
  run(job, limits) {
    const child = (this.#child ??= this.#start());
    const started = performance.now();
    return new Promise((resolve) => {
      const finish = (result) => {
        clearTimeout(timer);
        clearInterval(watch);
        child.removeAllListeners();
        child.on('error', () => {});
        if (result.failed) this.close();
        resolve({ ...result, milliseconds: performance.now() - started });
      };
      const hung = `still at work after ${limits.milliseconds / 1000} s`;
      const timer = setTimeout(() => finish({ failed: 'hang', why: hung }), limits.milliseconds);
      const watch = setInterval(() => {
        const rss = residentBytes(child.pid);
        if (rss > limits.bytes)
          finish({ failed: 'memory', why: `${Math.round(rss / 2 ** 20)} MiB resident` });
      }, WATCH);
      child.once('message', finish);
      child.once('error', () => {});
      child.once('close', (code, signal) =>
        finish({ failed: 'crash', why: `ended with ${signal ?? code}: ${this.#stderr.slice(-1500)}` }),
      );
      child.send(job, () => {});
    });
  }

  close() {
    this.#child?.kill('SIGKILL');
    this.#child = null;
  }

  #start() {
    this.#stderr = '';
    const child = fork(CHILD, [], { stdio: ['ignore', 'ignore', 'pipe', 'ipc'], env: this.#env });
    child.stderr.on('data', (bytes) => {
      const said = String(bytes).replace(/^Warning: maxDynamic.*\n/gm, '');
      if (this.#child === child) this.#stderr = (this.#stderr + said).slice(-8000);
    });
    return child;
  }
}

/** 0 where the system does not tell. */
function residentBytes(pid) {
  try {
    return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}
