import { spawn } from 'node:child_process';

/**
 * The program that opens an address in the user's browser, or null if there is none here, as in a session over SSH. With sudo, the browser
 * would run as another user.
 */
export function browserOpener(platform: NodeJS.Platform, env: Readonly<Record<string, string | undefined>>): string | null {
  if (env.SSH_CONNECTION || env.SUDO_UID) return null;
  if (platform === 'darwin') return 'open';
  return env.DISPLAY || env.WAYLAND_DISPLAY ? 'xdg-open' : null;
}

/** Does nothing if the program is missing or fails: the address has been printed. */
export function openBrowser(program: string, url: string): void {
  const child = spawn(program, [url], { stdio: 'ignore', detached: true });
  child.once('error', () => child.unref());
  child.unref();
}
