import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { REPOSITORY } from '../testing/process.ts';
import { PAGES } from './pages.ts';

for (const [name, make] of Object.entries(PAGES)) writeFileSync(join(REPOSITORY, name), await make());
