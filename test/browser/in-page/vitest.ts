// The module `vitest` of test files that run in a page: vitest's own runner and assertions, which need no Node.

import {
  ASYMMETRIC_MATCHERS_OBJECT,
  chai,
  GLOBAL_EXPECT,
  JestAsymmetricMatchers,
  JestChaiExpect,
  JestExtend,
} from '@vitest/expect';
import { getCurrentTest } from '@vitest/runner';
import type { ExpectStatic } from 'vitest';

export { afterAll, afterEach, beforeAll, beforeEach, describe, it, test } from '@vitest/runner';

for (const plugin of [JestExtend, JestChaiExpect, JestAsymmetricMatchers]) chai.use(plugin);

const withTest = (value: unknown, message?: string): unknown => {
  const assertion = chai.expect(value, message) as unknown as { withTest(test: unknown): unknown };
  const running = getCurrentTest();
  return running ? assertion.withTest(running) : assertion;
};
const matchers = (globalThis as Record<symbol, object>)[ASYMMETRIC_MATCHERS_OBJECT];
export const expect = Object.assign(withTest, chai.expect, matchers) as unknown as ExpectStatic;
Object.defineProperty(globalThis, GLOBAL_EXPECT, { value: expect });

/** Limits of time are those of the runner here. */
export const vi = { setConfig: (): void => {} };
