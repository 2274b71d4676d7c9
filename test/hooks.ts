// Hooks of modules that several test files import. Test files that share a process evaluate such a module once, so a hook that it gave to vitest
// itself would run for the first file only; test/setup.ts runs these after each test of every file.

const afterTests: (() => unknown)[] = [];

/** Calls `hook` after each test of this process, whether its file uses the calling module or not. */
export function afterEachTest(hook: () => unknown): void {
  afterTests.push(hook);
}

/** Runs every hook, the latest first; rejects with the first error after all have run. */
export async function runAfterTest(): Promise<void> {
  const errors: unknown[] = [];
  for (const hook of afterTests.toReversed()) {
    try {
      await hook();
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length > 0) throw errors[0];
}
