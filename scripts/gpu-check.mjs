// npm run gpu-check: what a GPU and its driver can do, and what the engine makes of it. It needs Node, a build and no network.
//   node scripts/gpu-check.mjs [--out FILE] [--only STAGE,…] [--minutes 9] [--small]
//   --out FILE       the report, JSON; left out: scripts/bench/gpu/<adapter>.json, with --small a temporary file
//   --only STAGE,…   some of adapter, ceilings, tests, kernels, models, images; a report that is there keeps its other stages
//   --minutes 9      the time that all stages share; time that a stage leaves over goes to the later ones
//   --small          tiny shapes, for software adapters and for the test of this command

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Report, reportName } from './gpu-check/report.mjs';
import { runStage } from './gpu-check/stage-process.mjs';

/** Stages in order with the shares of the time that they may take; and parts of stages, each of which has a process of its own, with theirs. */
const STAGES = {
  adapter: { share: 20 },
  ceilings: { share: 45 },
  tests: {
    share: 125,
    parts: {
      'kernels with bounds checks': 45,
      'models with bounds checks': 40,
      'kernels without bounds checks': 40,
    },
  },
  kernels: {
    share: 125,
    parts: {
      'products 8B': 31,
      'matrix units': 14,
      'activations in 8 bits': 15,
      attention: 20,
      'norms, rope and sampling': 15,
      images: 15,
      'products 3B': 15,
      'products 1B': 15,
    },
  },
  models: {
    share: 150,
    parts: { '1B f16': 20, '1B int4': 15, '8B int4': 40, '8B Q4_K_M': 30, '8B f16': 45 },
  },
  images: { share: 70, parts: { 'SD 1.5': 20, 'FLUX.1': 20, SDXL: 30 } },
};
/** Parts that are equal to others in their small form. */
const NOT_SMALL = new Set(['products 3B', 'products 1B']);
const LEAST_MS = 1000;

const names = Object.keys(STAGES);
const given = readArguments();
const scratch = mkdtempSync(join(tmpdir(), 'svc-gpu-check-'));
process.once('exit', () => rmSync(scratch, { recursive: true, force: true, maxRetries: 3 }));
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(130));

const report = new Report(given);
const ends = performance.now() + given.minutes * 60_000;
let hasFailed = false;
for (const [i, name] of given.stages.entries()) {
  const stage = report.begin(name);
  const shares = sum(given.stages.slice(i).map((later) => STAGES[later].share));
  const limit = Math.max(LEAST_MS, ((ends - performance.now()) * STAGES[name].share) / shares);
  const status = await runParts(name, stage, performance.now() + limit);
  report.end(name, status);
  if (name === 'adapter' && given.out === null) report.moveTo(defaultFile(stage.summary));
  hasFailed ||= status !== 'done';
}
console.log(`\nReport: ${report.file}`);
process.exit(hasFailed ? 1 : 0);

/** Runs the parts of a stage one after the other, each with a share of the time; returns the worst outcome. */
async function runParts(stage, sink, stageEnds) {
  const all = Object.entries(STAGES[stage].parts ?? { [stage]: 1 });
  const parts = all.filter(([part]) => !given.small || !NOT_SMALL.has(part));
  const outcomes = [];
  for (const [i, [part, share]] of parts.entries()) {
    const shares = sum(parts.slice(i).map(([, later]) => later));
    const milliseconds = Math.max(LEAST_MS, ((stageEnds - performance.now()) * share) / shares);
    sink.beginPart(part, milliseconds);
    const job = { stage, part, small: given.small, milliseconds, scratch, earlier: report.stages };
    const outcome = await runStage(job, sink);
    sink.endPart(part, outcome);
    outcomes.push(outcome.status);
  }
  return outcomes.find((status) => status !== 'done') ?? 'done';
}

function sum(values) {
  return values.reduce((total, value) => total + value, 0);
}

function readArguments() {
  try {
    const { values } = parseArgs({
      options: {
        out: { type: 'string' },
        only: { type: 'string' },
        minutes: { type: 'string', default: '9' },
        small: { type: 'boolean', default: false },
      },
    });
    const stages = values.only?.split(',') ?? names;
    const unknown = stages.find((name) => !names.includes(name));
    if (unknown !== undefined)
      throw new Error(`--only ${unknown} is no stage: choose among ${names.join(', ')}`);
    const minutes = Number(values.minutes);
    if (!(minutes > 0)) throw new Error(`--minutes ${values.minutes} is no time: give a number above 0`);
    const { out = null, small } = values;
    return { stages: names.filter((name) => stages.includes(name)), minutes, out, small };
  } catch (error) {
    console.error(error.message);
    process.exit(2);
  }
}

/** The file of an adapter's report; a report that is there already gives the stages that do not run this time. */
function defaultFile(summary) {
  if (given.small) return join(tmpdir(), 'gpu-check.json');
  const folder = fileURLToPath(new URL('bench/gpu', import.meta.url));
  return join(folder, `${reportName(summary)}.json`);
}
