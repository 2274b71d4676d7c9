// A vitest reporter that writes counts and failed tests by project to the file that SVC_TEST_REPORT names, for scripts/test.mjs, and names the files whose process ended
// before their tests did: vitest itself only says that some worker exited. The file is also written whenever a test file ends, so that a run
// that is killed leaves what it found.

import { writeFileSync } from 'node:fs';
import { leftOutOf } from '../test/left-out.mjs';
import { testsOnDriver } from '../test/second-driver.mjs';

export default class TestReport {
  #ended = {};

  onTestModuleEnd(module) {
    add(this.#ended, module);
    write(this.#ended);
  }

  onTestRunEnd(modules) {
    const projects = {};
    for (const module of modules) add(projects, module);
    for (const [name, { unfinished }] of Object.entries(projects))
      for (const file of unfinished) console.log(`UNFINISHED ${name} ${file}: its process ended`);
    write(projects);
  }
}

function write(projects) {
  writeFileSync(process.env.SVC_TEST_REPORT, JSON.stringify(projects));
}

function add(projects, module) {
  const { name } = module.project;
  const counts = (projects[name] ??= {
    passed: 0,
    failed: 0,
    skipped: 0,
    leftOut: 0,
    unfinished: [],
    broken: [],
    errors: {},
    seconds: 0,
  });
  count(module, counts);
  counts.seconds += secondsOf(module);
}

function count(module, counts) {
  let isFinished = module.state() !== 'queued' && module.state() !== 'pending';
  for (const test of module.children.allTests()) {
    const { state, errors } = test.result();
    if (state === 'pending') isFinished = false;
    else if (state !== 'skipped') counts[state] += 1;
    else if (isLeftOut(module, test)) counts.leftOut += module.project.name === 'swiftshader' ? 0 : 1; // the first driver counts it
    else if (!isOfOtherDriver(module, test)) counts.skipped += 1;
    if (state === 'failed') addBroken(counts, `${module.relativeModuleId}: ${test.fullName}`, errors);
  }
  if (!isFinished) counts.unfinished.push(module.relativeModuleId);
  // An error outside any test fails the file without a failed test.
  const hasFailedTest = [...module.children.allTests('failed')].length > 0;
  if (!isFinished || (module.state() === 'failed' && !hasFailedTest)) {
    counts.failed += 1;
    addBroken(counts, module.relativeModuleId, module.errors());
  }
}

const nameOf = ({ fullName }) => fullName.replaceAll(' > ', ' ');

/** Whether only the whole run has the test. */
function isLeftOut({ relativeModuleId }, test) {
  return leftOutOf(relativeModuleId).some((pattern) => pattern.test(nameOf(test)));
}

/** Whether the test is for another driver than the project's. */
function isOfOtherDriver({ project, relativeModuleId }, test) {
  const isSecond = project.name === 'swiftshader';
  const isShared = isSecond || (project.name === 'kernels and models' && !process.env.TESTS_ON_ONE_DRIVER);
  const tests = isShared ? testsOnDriver(isSecond, relativeModuleId) : undefined;
  return tests !== undefined && !tests.test(nameOf(test));
}

/** Names what failed, with the first line of its first error. */
function addBroken(counts, name, errors) {
  counts.broken.push(name);
  counts.errors[name] = errors?.[0]?.message?.split('\n')[0] ?? '';
}

function secondsOf(module) {
  const { duration, collectDuration, setupDuration, environmentSetupDuration } = module.diagnostic();
  return (duration + collectDuration + setupDuration + environmentSetupDuration) / 1000;
}
