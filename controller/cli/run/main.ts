import { runParent } from '../../../shared/parent/run-parent.ts';

/**
 * The parent of `run`: `main.ts LAUNCHER run [FLAGS]`. It plans the first start itself, which needs much less processor time than a process
 * that plans. The planner is loaded while the data plane already loads its code.
 */
runParent(async (argv) => {
  const { asksForHelp, plan } = await import('./plan.ts');
  return asksForHelp(argv) ? null : plan(argv);
});
