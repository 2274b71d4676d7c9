// The runner of projects whose tests two drivers share: of each file it runs the tests that test/second-driver.mjs names for the project's driver.

import { TestRunner, type RunnerTestFile } from 'vitest';
import { testsOnDriver } from './second-driver.mjs';

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

  /** A pattern that matches no test is a mistake, as it would let the file pass. */
  onCollected(files: RunnerTestFile[]): void {
    this.config.testNamePattern = this.#asked;
    for (const { name, mode, result } of files)
      if (this.#asked === undefined && mode === 'skip' && result === undefined)
        throw new Error(`${name}: no test of it is named in test/second-driver.mjs`);
  }
}
