import { basename, dirname, join } from 'node:path';

/** The socket of the controller's pages, beside that of the data plane that it feeds: `admin.sock` and `controller.sock`. */
export function controllerSocketBeside(adminSocket: string): string {
  const file = basename(adminSocket);
  return join(dirname(adminSocket), file.includes('admin') ? file.replace('admin', 'controller') : `controller-${file}`);
}
