// Runs compile.mjs for one card and reads what the driver says of each pipeline.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { findRadv } from '../setup/radv.mjs';

const COMPILE = fileURLToPath(new URL('compile.mjs', import.meta.url));
/** Milliseconds for all pipelines of a card. */
const LIMIT = 300_000;
/** Runs until every pipeline is compiled: a process on the null device sometimes crashes, and the next one goes on where it ended. */
const ATTEMPTS = 4;
/** Names of RADV's statistics that are kept. */
const FIGURES = {
  registers: 'VGPRs',
  spilled: 'Spilled VGPRs',
  spilledScalars: 'Spilled SGPRs',
  scratch: 'Scratch size',
  shared: 'LDS size',
  occupancy: 'Subgroups per SIMD',
  instructions: 'Instructions',
  latency: 'Latency',
};

/**
 * @param {{ gpu: string, card: string }} which
 * @returns {Promise<{ driver: string, pipelines: object[] } | { reason: string }>} each pipeline: { shader, params, of } and the figures above
 */
export async function compileFor({ gpu, card }) {
  const { environment, reason } = findRadv(gpu);
  if (reason !== undefined) return { reason };
  const compiled = [];
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const { output, errors, end } = await run([COMPILE, card, String(compiled.length)], environment);
    const answer = output.split('\n').find((line) => line.startsWith('{'));
    const [opening, ...parts] = errors.split(/\npipeline (?=\d+\n)/);
    if (answer === undefined) {
      // No message of the driver: the fault is the project's, and not that the driver has no null device.
      if (opening.includes('Error')) throw new Error(opening.trim());
      return { reason: `Mesa's driver opens no device for ${gpu}: ${end}` };
    }
    const { driver, pipelines } = JSON.parse(answer);
    const figures = parts.map(figuresIn);
    compiled.push(...figures.slice(0, figures.includes(null) ? figures.indexOf(null) : undefined));
    if (compiled.length === pipelines.length)
      return { driver, pipelines: pipelines.map((one, at) => ({ ...one, ...compiled[at] })) };
    if (/Error/.test(parts.at(-1) ?? ''))
      throw new Error(`${pipelines[compiled.length].shader}: ${parts.at(-1)}`);
  }
  throw new Error(
    `${gpu}: the compiler ended ${ATTEMPTS} times, the last time at pipeline ${compiled.length}`,
  );
}

/** Runs a script in Node; returns its output, its errors and how it ended. */
async function run(args, env) {
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'pipe'], timeout: LIMIT });
  const texts = Promise.all([textOf(child.stdout), textOf(child.stderr)]);
  const [code, signal] = await once(child, 'close');
  const [output, errors] = await texts;
  return { output, errors, end: `it ended with ${signal ?? code}` };
}

function figuresIn(text) {
  const entries = Object.entries(FIGURES).map(([key, name]) => [
    key,
    new RegExp(`^${name}: (\\d+)`, 'm').exec(text)?.[1],
  ]);
  return entries.some(([, value]) => value === undefined)
    ? null
    : Object.fromEntries(entries.map(([key, value]) => [key, Number(value)]));
}

async function textOf(stream) {
  let text = '';
  for await (const part of stream.setEncoding('utf8')) text += part;
  return text;
}
