// The runner of `npm test`: of each file it runs the tests that test/second-driver.mjs names for the project's driver, without those that
// test/left-out.mjs leaves to the whole run.

import { TestRunner, type RunnerTestFile, type RunnerTestSuite } from 'vitest';
import { IS_WHOLE, leftOutOf } from './left-out.mjs';
import { NEEDS_F16, testsOnDriver } from './second-driver.mjs';

const IS_SECOND = process.env['SVC_VULKAN_DRIVER'] === 'swiftshader';
/** Set where there is no second driver. */
const IS_ALONE = process.env['TESTS_ON_ONE_DRIVER'] !== undefined;

/**
 * The pattern of the command line, kept by the first file of a process: files that share a process share the configuration, in which a later one
 * may find the pattern of an earlier one.
 */
const shared = globalThis as { askedPattern?: { pattern: RegExp | undefined } };

export default class PartRunner extends TestRunner {
  readonly #asked = (shared.askedPattern ??= { pattern: this.config.testNamePattern }).pattern;

  override onCollectStart(file: RunnerTestFile): void {
    super.onCollectStart(file);
    this.config.testNamePattern = this.#asked ?? partOf(file.name);
  }

  /** A pattern that matches no test is a mistake, as it would let the file pass; so is a test that no driver runs. */
  onCollected(files: RunnerTestFile[]): void {
    this.config.testNamePattern = this.#asked;
    if (this.#asked !== undefined) return;
    for (const file of files) {
      const { name: path, mode, result } = file;
      const names = namesOf(file);
      // In the plain run nothing may be left for the second driver.
      const isShared = !IS_ALONE && (IS_WHOLE || !IS_SECOND) && testsOnDriver(IS_SECOND, path) !== undefined;
      const hasNone = mode === 'skip' && result === undefined;
      if (isShared && hasNone && names.some((name) => isRun(path, name)))
        throw new Error(`${path}: no test of it is named in test/second-driver.mjs`);
      if (IS_SECOND) continue; // it need not have all of them
      const unused = leftOutOf(path).find((pattern) => !names.some((name) => pattern.test(name)));
      if (unused !== undefined) throw new Error(`${path}: ${unused} in test/left-out.mjs matches no test`);
      if (IS_ALONE) continue;
      for (const name of names.filter((one) => isRun(path, one) && !runsOnAny(path, one)))
        throw new Error(`${path}: test/second-driver.mjs has no driver for '${name}'`);
    }
  }
}

/** What runs of a file here; undefined: all. */
function partOf(path: string): RegExp | undefined {
  const part = IS_ALONE ? undefined : testsOnDriver(IS_SECOND, path);
  const leftOut = leftOutOf(path);
  if (leftOut.length === 0) return part;
  const without = leftOut.map(({ source }) => `(?!.*?(?:${source}))`).join('');
  return new RegExp(`^${without}${part === undefined ? '' : `(?=.*?(?:${part.source}))`}`);
}

/** Full names of the tests below a suite, as patterns see them. */
function namesOf({ tasks }: RunnerTestSuite): string[] {
  return tasks.flatMap((task) =>
    task.type === 'suite' ? namesOf(task).map((name) => `${task.name} ${name}`) : [task.name],
  );
}

/** Whether a test is not left to the whole run. */
function isRun(path: string, name: string): boolean {
  return !leftOutOf(path).some((pattern) => pattern.test(name));
}

function runsOnAny(path: string, name: string): boolean {
  const [first, second] = [testsOnDriver(false, path), testsOnDriver(true, path)];
  return (first?.test(name) ?? true) || (!NEEDS_F16.includes(path) && (second?.test(name) ?? false));
}
