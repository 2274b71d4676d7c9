// The runner of projects whose tests two drivers share: of each file it runs the tests that test/second-driver.mjs names for the project's driver.

import { TestRunner, type RunnerTestFile, type RunnerTestSuite } from 'vitest';
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
    const part = IS_ALONE ? undefined : testsOnDriver(IS_SECOND, file.name);
    this.config.testNamePattern = this.#asked ?? part;
  }

  /** A pattern that matches no test is a mistake, as it would let the file pass; so is a test that no driver runs. */
  onCollected(files: RunnerTestFile[]): void {
    this.config.testNamePattern = this.#asked;
    for (const { name, mode, result } of files)
      if (this.#asked === undefined && mode === 'skip' && result === undefined)
        throw new Error(`${name}: no test of it is named in test/second-driver.mjs`);
    if (this.#asked !== undefined || IS_SECOND || IS_ALONE) return;
    for (const file of files)
      for (const test of namesOf(file).filter((name) => !runsOnAny(file.name, name)))
        throw new Error(`${file.name}: test/second-driver.mjs has no driver for '${test}'`);
  }
}

/** Full names of the tests below a suite, as patterns see them. */
function namesOf({ tasks }: RunnerTestSuite): string[] {
  return tasks.flatMap((task) =>
    task.type === 'suite' ? namesOf(task).map((name) => `${task.name} ${name}`) : [task.name],
  );
}

function runsOnAny(path: string, name: string): boolean {
  const [first, second] = [testsOnDriver(false, path), testsOnDriver(true, path)];
  return (first?.test(name) ?? true) || (!NEEDS_F16.includes(path) && (second?.test(name) ?? false));
}
