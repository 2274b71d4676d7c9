// The runner of the second driver's project: of each file it runs the tests that test/second-driver.mjs names.

import { TestRunner, type RunnerTestFile } from 'vitest';
import { secondDriverTests } from './second-driver.mjs';

export default class PartRunner extends TestRunner {
  /** What the command line asks for; files that share a process share this configuration. */
  readonly #asked = this.config.testNamePattern;

  override onCollectStart(file: RunnerTestFile): void {
    super.onCollectStart(file);
    this.config.testNamePattern = this.#asked ?? secondDriverTests(file.name);
  }

  /** A pattern that matches no test is a mistake, as it would let the file pass. */
  onCollected(files: RunnerTestFile[]): void {
    this.config.testNamePattern = this.#asked;
    for (const { name, mode, result } of files)
      if (this.#asked === undefined && mode === 'skip' && result === undefined)
        throw new Error(`${name}: no test of it is named in test/second-driver.mjs`);
  }
}
