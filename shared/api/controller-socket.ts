import { basename, dirname, join } from 'node:path';

/** The socket of the controller's pages, next to the socket of its data plane: `admin.sock` and `controller.sock`. */
export function controllerSocketBeside(adminSocket: string): string {
  const file = basename(adminSocket);
  return join(dirname(adminSocket), file.includes('admin') ? file.replace('admin', 'controller') : `controller-${file}`);
}
