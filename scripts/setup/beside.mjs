// What the tests use beside the first adapter: AMD's driver, other runtimes, the second adapter, browsers. A process of its own fetches them,
// mostly waiting for the network, while the dependencies are installed and the checks run.

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { ensureSwiftShader } from './adapter.mjs';
import { ensureChromium } from './chromium.mjs';
import { ensureFirefox } from './firefox.mjs';
import { findRadv } from './radv.mjs';
import { ensureRuntime } from './runtimes.mjs';

/** Set up at once, in this order; the rest needs the dependencies and the first adapter's driver. */
const AT_ONCE = {
  radv: () => withoutEnvironment(findRadv('navi31')),
  bun: () => ensureRuntime('bun'),
  deno: () => ensureRuntime('deno'),
};
const AFTER_ADAPTER = {
  swiftshader: ensureSwiftShader,
  chromium: ensureChromium,
  firefox: ensureFirefox,
};

const withoutEnvironment = ({ reason }) => ({ reason });

/** The parts, each set up by the process of its own. */
export class Beside {
  #child = fork(fileURLToPath(import.meta.url), { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  #found = new Map();
  #ended = once(this.#child, 'exit');

  constructor() {
    this.#child.on('message', ({ name, ...outcome }) => this.#found.set(name, outcome));
  }

  /** The dependencies and the first adapter are there. */
  goOn() {
    this.#child.send('go on');
  }

  /** @param {string} name of a part @returns {Promise<any>} what its set-up returned; rejects with its error */
  async take(name) {
    while (!this.#found.has(name)) {
      const hasEnded = await Promise.race([once(this.#child, 'message'), this.#ended.then(() => true)]);
      if (hasEnded === true && !this.#found.has(name)) throw new Error(`The set-up ended before ${name}.`);
    }
    const { value, problem } = this.#found.get(name);
    if (problem !== undefined) throw new Error(problem);
    return value;
  }

  end() {
    this.#child.kill();
  }
}

async function setUpParts(parts) {
  for (const [name, setUp] of Object.entries(parts)) {
    try {
      process.send({ name, value: await setUp() });
    } catch (error) {
      process.send({ name, problem: error.message });
    }
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const dependencies = once(process, 'message');
  await setUpParts(AT_ONCE);
  await dependencies;
  await setUpParts(AFTER_ADAPTER);
  process.disconnect();
}
