// Makes a bare clone ready to run: dependencies, build, an adapter that answers. Node's own modules only; quick when all is there.
//   node scripts/setup.mjs [--swiftshader]     --swiftshader also fetches the second driver, which the tests run on

import { fileURLToPath } from 'node:url';
import { ensureAdapter, ensureSwiftShader } from './setup/adapter.mjs';
import { buildIfStale } from './setup/build.mjs';
import { installIfStale } from './setup/packages.mjs';

/** @returns {Promise<{ adapter: string, swiftshader: string | null }>} the names of the adapters that answer */
export async function setUp({ swiftshader = false } = {}) {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major < 20 || (major === 20 && minor < 19)) {
    throw new Error(`This is Node ${process.versions.node}, but svc-engine needs 20.19 or newer.`);
  }
  installIfStale();
  await buildIfStale();
  return { adapter: ensureAdapter(), swiftshader: swiftshader ? ensureSwiftShader() : null };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    const ready = await setUp({ swiftshader: process.argv.includes('--swiftshader') });
    console.log(`Adapter: ${ready.adapter}`);
    if (ready.swiftshader) console.log(`Adapter: ${ready.swiftshader}`);
  } catch (error) {
    console.error(error.message);
    process.exitCode = 1;
  }
}
