// npm test: set-up, then every check from the cheapest up, then the tests. A check that fails hides none of the later ones.
//   npm test -- <filter>      only set-up and the test files whose path contains <filter>

import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureAdapter, ensureSwiftShader } from './setup/adapter.mjs';
import { buildIfStale } from './setup/build.mjs';
import { installIfStale, root } from './setup/packages.mjs';

const bin = (path) => join(root, 'node_modules', path);
const rooms = ['src', 'test', 'scripts'];

/** Node scripts, each a check that prints only what is wrong. */
const checks = [
  ['format', [bin('oxfmt/bin/oxfmt'), '--check', ...rooms]],
  ['lint', [bin('oxlint/bin/oxlint'), ...rooms]],
  ['types', [bin('typescript/bin/tsc'), '-p', root]],
  ['imports', [join(root, 'scripts/check-imports.mjs')]],
  ['shaders', [join(root, 'scripts/check-shaders.mjs')]],
  ['readme', [join(root, 'scripts/check-readme.mjs')]],
];

/** The same, but slower, so that they come after the tests. */
const lastChecks = [
  ['package', [join(root, 'scripts/pack-check.mjs')]],
  ['soak, short form', [join(root, 'scripts/soak.mjs'), '--short']],
];

/** What also runs on the second adapter: four lanes, no f16, another compiler. */
const onSecondAdapter = ['test/kernels', 'test/models/text/llama.test.ts'];

const total = { passed: 0, failed: 0, skipped: 0 };
const filter = process.argv.slice(2);

await timed('dependencies', installIfStale);
let adapter = null;
let swiftshader = null;
if (existsSync(bin('vitest'))) {
  await timed('build', buildIfStale);
  adapter = await timed('adapter', ensureAdapter);
  swiftshader = await timed('second adapter', ensureSwiftShader);
  if (filter.length === 0) for (const [name, args] of checks) await timed(name, () => runQuietly(args));
  runTests(filter);
  if (filter.length === 0) {
    if (swiftshader) runTests(onSecondAdapter, { SVC_VULKAN_DRIVER: 'swiftshader' });
    for (const [name, args] of lastChecks) await timed(name, () => runQuietly(args));
  }
} else {
  console.log('The dependencies are missing, so nothing else can run.');
}
console.log(`\nAdapter: ${adapter ?? 'NONE'}`);
console.log(swiftshader ? `Adapter: ${swiftshader}` : 'SwiftShader: NOT RUN');
const skipped = total.skipped > 0 ? `, ${total.skipped} skipped` : '';
console.log(`${total.passed} passed, ${total.failed} failed${skipped}`);
process.exitCode = total.failed > 0 ? 1 : 0;

/** Runs one step, prints its line, counts it; returns its value, or null where it failed. */
async function timed(name, step) {
  const started = performance.now();
  try {
    const value = await step();
    total.passed += 1;
    printLine('ok', name, started);
    return value;
  } catch (error) {
    total.failed += 1;
    printLine('FAILED', name, started);
    console.log(error.message);
    return null;
  }
}

function printLine(word, name, started) {
  console.log(`${word.padEnd(7)}${name.padEnd(24)}${((performance.now() - started) / 1000).toFixed(1)} s`);
}

function runQuietly(args) {
  const result = spawnSync(process.execPath, args, {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  if (result.status !== 0)
    throw new Error(`${result.stdout}${result.stderr}`.trim() || `ended with ${result.signal}`);
}

/** vitest prints as it goes; its JSON report gives the counts. */
function runTests(args, env = {}) {
  const started = performance.now();
  const folder = mkdtempSync(join(tmpdir(), 'svc-test-'));
  const report = join(folder, 'report.json');
  const result = spawnSync(
    process.execPath,
    [
      bin('vitest/vitest.mjs'),
      'run',
      '--config=scripts/vitest.config.ts',
      '--reporter=default',
      '--reporter=json',
      `--outputFile.json=${report}`,
      ...args,
    ],
    { cwd: root, env: { ...process.env, ...env }, stdio: ['ignore', 'inherit', 'inherit'] },
  );
  const counts = existsSync(report) ? readCounts(report) : { passed: 0, failed: 0, skipped: 0 };
  // A crash or an error outside any test fails the run without a failed test.
  if (result.status !== 0 && counts.failed === 0) counts.failed = 1;
  for (const key of Object.keys(total)) total[key] += counts[key];
  rmSync(folder, { recursive: true });
  printLine(
    counts.failed === 0 ? 'ok' : 'FAILED',
    ['tests', env.SVC_VULKAN_DRIVER].filter(Boolean).join(' on '),
    started,
  );
}

function readCounts(report) {
  const { numPassedTests, numFailedTests, numPendingTests, numTodoTests, testResults } = JSON.parse(
    readFileSync(report, 'utf8'),
  );
  const brokenFiles = testResults.filter(
    (file) => file.status === 'failed' && file.assertionResults.length === 0,
  );
  return {
    passed: numPassedTests,
    failed: numFailedTests + brokenFiles.length,
    skipped: numPendingTests + numTodoTests,
  };
}
