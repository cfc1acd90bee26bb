import type { Clock } from '../../../../shared/runtime/clock.ts';
import type { Faults } from '../../exchange/faults.ts';
import { Disks, type DiskTools } from './disk.ts';
import { HotFiles } from './hot-files.ts';

/** What the file servers of a worker share. */
export type FileTools = DiskTools & { readonly clock: Clock; readonly hot: HotFiles };

export const fileTools = (clock: Clock, faults: Faults): FileTools => ({
  clock,
  faults,
  disks: new Disks(clock, faults),
  hot: new HotFiles(clock),
});
