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

/** Stages in order, and the share of the time that each may take. */
const STAGES = { adapter: 20, ceilings: 45, tests: 125, kernels: 125, models: 145, images: 70 };
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
  const shares = given.stages.slice(i).reduce((sum, later) => sum + STAGES[later], 0);
  const milliseconds = Math.max(LEAST_MS, ((ends - performance.now()) * STAGES[name]) / shares);
  const stage = report.begin(name, milliseconds);
  const job = { stage: name, small: given.small, milliseconds, scratch, earlier: report.stages };
  const outcome = await runStage(job, stage);
  report.end(name, outcome);
  if (name === 'adapter' && given.out === null) report.moveTo(defaultFile(stage.summary));
  hasFailed ||= outcome.status !== 'done';
}
console.log(`\nReport: ${report.file}`);
process.exit(hasFailed ? 1 : 0);

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
