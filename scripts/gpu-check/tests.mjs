// Stage 3: tests of kernels, and of models against their goldens, with bounds checks; then those of kernels once more as programs run them,
// without. They need vitest, which a bundle may leave out.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { withoutPaths } from './report.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const vitest = join(root, 'node_modules/vitest/vitest.mjs');
const MOST_WORKERS = 8;
/** A shard that hangs loses the results of its own files only. */
const SHARDS = 4;
const TEST_TIMEOUT_MS = 30_000;
/** Time that the stage keeps for itself. */
const RESERVE_MS = 2000;
const TAIL = 1000;

/** Paths of each part's tests, one for --small, and which devices check bounds: see test/gpu/test-device.ts. */
const PARTS = {
  'kernels with bounds checks': {
    paths: ['test/kernels/'],
    small: 'test/kernels/scale.test.ts',
    checks: 'all',
  },
  'models with bounds checks': {
    paths: ['test/models/'],
    small: 'test/models/text/t5/t5.test.ts',
    checks: 'all',
  },
  'kernels without bounds checks': {
    paths: ['test/kernels/'],
    small: 'test/kernels/scale.test.ts',
    checks: 'none',
  },
};

export async function measure({ part, small, sink, scratch, left }) {
  if (!existsSync(vitest)) throw new Error('vitest is not installed: name it when the bundle is made');
  const { paths, small: one, checks } = PARTS[part];
  const shards = small ? 1 : SHARDS;
  const problems = [];
  for (let shard = 1; shard <= shards; shard++) {
    const milliseconds = (left() - RESERVE_MS) / (shards - shard + 1);
    const report = join(scratch, `${part}-${shard}.json`);
    const args = [`--shard=${shard}/${shards}`, ...(small ? [one] : paths)];
    const outcome = await runShard(args, { report, checks, milliseconds, small });
    const { failures, ...counts } = outcome;
    const { passed, failed, skipped, withoutGolden, unfinished } = counts;
    const more = [
      ...(withoutGolden > 0 ? [`without their goldens ${withoutGolden}`] : []),
      ...(unfinished > 0 ? [`files that did not end ${unfinished}`] : []),
    ];
    const value = [`passed ${passed}, failed ${failed}, skipped ${skipped}`, ...more].join(', ');
    sink.row('shards', { name: `${part}, ${shard} of ${shards}`, part, value, ...counts });
    for (const failure of failures) sink.row('failures', { name: failure.name, part, error: failure.error });
    if (counts.status !== 'done') problems.push(`shard ${shard} ${counts.status}`);
    else if (failed > 0) problems.push(`shard ${shard} has ${failed} failures`);
  }
  if (problems.length > 0) throw new Error(problems.join(', '));
}

async function runShard(args, { report, checks, milliseconds, small }) {
  const begun = performance.now();
  const workers = Math.min(MOST_WORKERS, availableParallelism());
  const child = spawn(
    process.execPath,
    [
      vitest,
      'run',
      '--config=scripts/vitest.config.ts',
      '--reporter=./scripts/test-report.mjs',
      `--maxWorkers=${workers}`,
      `--testTimeout=${TEST_TIMEOUT_MS}`,
      ...args,
    ],
    {
      cwd: root,
      env: {
        ...process.env,
        ...(!small && { SVC_VULKAN_DRIVER: process.env.SVC_VULKAN_DRIVER ?? 'system' }),
        SVC_TEST_REPORT: report,
        TESTS_BOUNDS_CHECKS: checks,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  let tail = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => (tail = (tail + text).slice(-TAIL)));
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    child.kill('SIGKILL');
  }, milliseconds);
  const [code] = await once(child, 'exit'); // its workers may hold its pipes
  clearTimeout(timer);
  const counts = readCounts(report);
  const isWhole = code === 0 || counts.failed + counts.withoutGolden > 0;
  return {
    status: isLate ? 'timed out' : isWhole ? 'done' : 'failed',
    seconds: (performance.now() - begun) / 1000,
    ...counts,
    ...(!isWhole && { output: withoutPaths(tail.trim()) }),
  };
}

/** A test without the file that it compares with, which a bundle may leave out. */
const NO_GOLDEN = /^ENOENT\b.*\btest\/golden\//;

/** Counts of the one project of scripts/vitest.config.ts, as far as its files have ended. */
function readCounts(report) {
  const counts = { passed: 0, failed: 0, skipped: 0, withoutGolden: 0, unfinished: 0, failures: [] };
  if (!existsSync(report)) return counts;
  for (const project of Object.values(JSON.parse(readFileSync(report, 'utf8')))) {
    for (const key of ['passed', 'failed', 'skipped']) counts[key] += project[key];
    counts.unfinished += project.unfinished.length;
    for (const [name, error] of Object.entries(project.errors)) {
      if (NO_GOLDEN.test(error)) counts.withoutGolden++;
      else counts.failures.push({ name, error: withoutPaths(error) });
    }
  }
  counts.failed -= counts.withoutGolden;
  return counts;
}
