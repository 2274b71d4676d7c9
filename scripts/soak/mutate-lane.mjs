// A child process that opens one checkpoint after another. A checkpoint that ends it, or that takes longer or more memory than
// allowed, costs one process and no other checkpoint.

import { fork } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const CHILD = fileURLToPath(new URL('mutate-child.mjs', import.meta.url));
/** ms between two looks at the child's memory, where the system shows it. */
const WATCH = 100;

export class Lane {
  #child = null;
  #stderr = '';
  #caches;
  env;

  /** `cache`: a folder that does not exist yet, for caches of its own; drivers and their compiled shaders stay where they are. */
  constructor(cache) {
    const own = process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache');
    this.#caches = join(cache, 'svc-engine');
    mkdirSync(this.#caches, { recursive: true });
    const drivers = join(own, 'svc-engine/vulkan');
    if (existsSync(drivers)) symlinkSync(drivers, join(this.#caches, 'vulkan'));
    const shaders = process.env.MESA_SHADER_CACHE_DIR ?? own;
    this.env = { ...process.env, XDG_CACHE_HOME: cache, MESA_SHADER_CACHE_DIR: shaders };
  }

  /** Number of files in the caches of the lane. */
  cached() {
    return readdirSync(this.#caches, { recursive: true })
      .map(String)
      .filter((path) => !path.startsWith('vulkan'));
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
    const child = fork(CHILD, [], { stdio: ['ignore', 'ignore', 'pipe', 'ipc'], env: this.env });
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
