// Runs test files of the project in a page, on the page's WebGPU.

import { startTests, type Task } from '@vitest/runner';
import { TEST_FILES } from 'virtual:test-files';
import { poisonMemory } from '../../poison.ts';

/** The outcome of one test file. */
export interface FileOutcome {
  passed: number;
  skipped: number;
  /** Name and message of each failed test. */
  failed: string[];
}

declare global {
  /** Runs one test file, named by its path from the project's root; with `names`, its tests whose names match that expression. */
  var runTestFile: (path: string, names?: string) => Promise<FileOutcome>;
}

const TIMEOUT_MS = 60_000;

poisonMemory();

globalThis.runTestFile = async (path, names) => {
  const files = await startTests([path], {
    importFile: (file) => TEST_FILES[file]!(),
    config: {
      root: '/',
      setupFiles: [],
      name: undefined,
      passWithNoTests: false,
      testNamePattern: names === undefined ? undefined : new RegExp(names),
      allowOnly: false,
      sequence: { seed: 0, hooks: 'stack', setupFiles: 'list' },
      chaiConfig: undefined,
      maxConcurrency: 1,
      testTimeout: TIMEOUT_MS,
      hookTimeout: TIMEOUT_MS,
      retry: 0,
      includeTaskLocation: false,
      tags: [],
      tagsFilter: undefined,
      strictTags: false,
    },
  });
  const outcome: FileOutcome = { passed: 0, skipped: 0, failed: [] };
  for (const file of files) count(file, outcome);
  return outcome;
};

function count(task: Task, outcome: FileOutcome): void {
  if (task.type === 'test' && task.result?.state === 'pass') outcome.passed += 1;
  if (task.type === 'test' && task.mode === 'skip') outcome.skipped += 1;
  for (const { message } of task.result?.errors ?? []) outcome.failed.push(`${task.name}: ${message}`);
  if (task.type === 'suite') for (const child of task.tasks) count(child, outcome);
}
