// Throws where Node is too old. The public face imports this module first, because others fail with errors that do not tell the cause.

import { unsupported } from '../../files/error.ts';
import { nodeProblem } from '../../options/node-version.ts';

const problem = nodeProblem(process.versions);
if (problem !== null) throw unsupported(problem);
