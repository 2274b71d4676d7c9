// npm test: set-up, then the checks, the tests and the short soak. A step that fails hides none of the later ones.
//   npm test -- --all         also the tests that test/left-out.mjs leaves to this, and the published models of ../shared/data/zoo where that is there
//   npm test -- <filter>      only set-up and the test files whose path contains <filter>

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureAdapter } from './setup/adapter.mjs';
import { Beside } from './setup/beside.mjs';
import { buildIfStale } from './setup/build.mjs';
import { findNaga } from './setup/naga.mjs';
import { installIfStale, root } from './setup/packages.mjs';
import { RUNTIMES } from './setup/runtimes.mjs';

const bin = (path) => join(root, 'node_modules', path);
const rooms = ['src', 'test', 'scripts'];

const naga = findNaga();

const soak = join(root, 'scripts/soak.mjs');

const isRadvThere = (radv) => radv !== null && radv.reason === undefined;

/** Configurations of published models, where they lie beside the project: planning all of them takes minutes. */
const zoo = join(root, '../shared/data/zoo');

/**
 * Node scripts, each a check that prints only what is wrong; as many run beside each other as there are cores, the longest first, so that the
 * cores end together.
 */
const checksWith = (radv) => [
  ...(isWhole && existsSync(zoo)
    ? [['zoo of published models', [join(root, 'scripts/check-zoo.mjs'), zoo]]]
    : []),
  ['shaders', [join(root, 'scripts/check-shaders.mjs')]],
  ...(isRadvThere(radv) ? [['kernels compiled for RDNA 3', [join(root, 'scripts/check-compiled.mjs')]]] : []),
  ...('path' in naga ? [['shaders in naga', [join(root, 'scripts/check-naga.mjs')]]] : []),
  ['lint', [bin('oxlint/bin/oxlint'), ...rooms]],
  ['package', [join(root, 'scripts/pack-check.mjs')]],
  ['types', [bin('typescript/bin/tsc'), '-p', root]],
  ['types without Node', [bin('typescript/bin/tsc'), '-p', join(root, 'scripts/tsconfig.browser.json')]],
  ['imports', [join(root, 'scripts/check-imports.mjs')]],
  ['words', [join(root, 'scripts/check-words.mjs')]],
  ['readme', [join(root, 'scripts/check-readme.mjs')]],
  ['format', [bin('oxfmt/bin/oxfmt'), '--check', ...rooms]],
];

/** The soak's short form: random inputs beside each other, then the loads alone, which watch how soon a server answers. */
const randomInputs = [
  ['damaged checkpoints', [soak, '--short', '--only-mutations']],
  ['fuzzed requests', [soak, '--short', '--only-fuzz']],
];
const loads = [soak, '--short', '--only-loads'];

/**
 * Every step has llvmpipe compile without LLVM's optimizations, in about half the time, as test/setup.ts does for test files that run
 * by themselves: so the steps read each other's compiled shaders from the driver's cache, and the soak starts with warm ones.
 */
process.env.GALLIVM_PERF ??= 'nopt';

const total = { passed: 0, failed: 0, skipped: 0, leftOut: 0 };
/** Names of failed steps and tests, to be printed last, where they are found. */
const broken = [];
const filter = process.argv.slice(2).filter((word) => word !== '--all');
const isWhole = process.argv.includes('--all');
if (isWhole) process.env.TESTS_WHOLE = '1';

const beside = new Beside();
await timed('dependencies', installIfStale);
let adapter = null;
let radv = null;
let second = null;
const programs = { Chromium: null, Firefox: null, naga };
if (existsSync(bin('vitest'))) {
  await timed('build', buildIfStale);
  adapter = await timed('adapter', ensureAdapter);
  beside.goOn();
  radv = await timed("AMD's driver", () => beside.take('radv'));
  if (filter.length === 0) await runBeside(checksWith(radv));
  second = await takeOthers();
  if (second === null) process.env.TESTS_ON_ONE_DRIVER = '1';
  if (filter.length > 0) await runTests(['--config=scripts/vitest.config.ts', ...filter]);
  else {
    const projects = [
      ...(second ? [] : ['--project=!swiftshader']),
      ...(programs.Chromium?.path ? [] : ['--project=!chromium*']),
      ...(programs.Firefox?.path ? [] : ['--project=!firefox']),
    ];
    await runTests(['--config=scripts/vitest.all.config.ts', ...projects]);
    await runBeside(randomInputs);
    await timed('loads of a server', () => runQuietly(loads));
  }
} else {
  beside.end();
  console.log('The dependencies are missing, so nothing else can run.');
}
for (const test of broken) console.log(`FAILED ${test}`);
console.log(`\nAdapter: ${adapter ?? 'NONE'}`);
console.log(second ? `Adapter: ${second}` : 'SwiftShader: NOT RUN');
console.log(
  `RADV: ${isRadvThere(radv) ? 'null device of navi31' : `NOT RUN (${radv?.reason ?? 'see above'})`}`,
);
for (const [name, found] of Object.entries(programs))
  console.log(`${name}: ${found?.path ? found.version : `NOT RUN (${found?.reason ?? 'see above'})`}`);
const skipped = total.skipped > 0 ? `, ${total.skipped} skipped` : '';
const leftOut = total.leftOut > 0 ? `; ${total.leftOut} more with npm test -- --all` : '';
console.log(`${total.passed} passed, ${total.failed} failed${skipped}${leftOut}`);
process.exitCode = total.failed > 0 ? 1 : 0;
setTimeout(() => process.exit(), 5_000).unref(); // a browser that hung may keep this process open

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
    broken.push(name);
    console.log(error.message);
    return null;
  }
}

function printLine(word, name, started) {
  console.log(`${word.padEnd(7)}${name.padEnd(28)}${((performance.now() - started) / 1000).toFixed(1)} s`);
}

/** Waits for what was set up beside the checks, and names the programs to the test files; returns the second adapter's name, or null. */
async function takeOthers() {
  const name = await timed('second adapter', () => beside.take('swiftshader'));
  for (const title of ['Chromium', 'Firefox']) {
    programs[title] = await timed(title, () => beside.take(title.toLowerCase()));
    process.env[`SVC_${title.toUpperCase()}`] = programs[title]?.path ?? '';
  }
  for (const [runtime, { title }] of Object.entries(RUNTIMES)) {
    programs[title] = await timed(title, () => beside.take(runtime));
    if (programs[title]?.path) process.env[`SVC_${runtime.toUpperCase()}`] = programs[title].path;
  }
  return name;
}

/** Runs scripts in parallel, one per CPU core. */
async function runBeside(scripts) {
  const waiting = [...scripts];
  const runWaiting = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const [name, args] = next;
      await timed(name, () => runQuietly(args));
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, runWaiting));
}

async function runQuietly(args) {
  const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => (output += text));
  const [code, signal] = await once(child, 'close');
  if (code !== 0) throw new Error(output.trim() || `ended with ${signal ?? code}`);
}

/** vitest prints as it goes; a reporter of this project writes the counts. */
async function runTests(args) {
  const started = performance.now();
  const folder = mkdtempSync(join(tmpdir(), 'svc-test-'));
  const report = join(folder, 'report.json');
  const reporters = ['--reporter=default', '--reporter=./scripts/test-report.mjs'];
  const child = spawn(process.execPath, [bin('vitest/vitest.mjs'), 'run', ...reporters, ...args], {
    cwd: root,
    env: { ...process.env, SVC_TEST_REPORT: report },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const [code] = await once(child, 'close');
  const projects = existsSync(report) ? Object.entries(JSON.parse(readFileSync(report, 'utf8'))) : [];
  rmSync(folder, { recursive: true });
  const hasFailed = projects.some(([, { failed }]) => failed > 0);
  // An error outside any file fails the run without a failed test.
  if (code !== 0 && !hasFailed)
    projects.push(['outside any file', { passed: 0, failed: 1, skipped: 0, leftOut: 0 }]);
  for (const [name, counts] of projects) {
    for (const key of Object.keys(total)) total[key] += counts[key];
    const title = name === '' ? 'tests' : `tests, ${name}`;
    printLine(counts.failed === 0 ? 'ok' : 'FAILED', title, started);
    broken.push(...(counts.broken ?? []).map((test) => (name === '' ? test : `${test} (${name})`)));
  }
}
