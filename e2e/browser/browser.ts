import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { chromium, type Page, type Browser as Process } from 'playwright-core';
import { missing } from '../components.ts';
import type { Folder } from '../testing/dataplane.ts';

const CHROMIUM = '/usr/bin/chromium';
/** Keeps the browser from connecting to anything but the test. */
const QUIET = ['--disable-background-networking', '--disable-component-update', '--disable-sync', '--no-first-run'];
const ARGUMENTS = ['--no-sandbox', '--disable-gpu', '--disable-quic', ...QUIET];

/** How a browser rates the connection of a page. */
export type Padlock = {
  /** `secure` means a padlock without a warning. */
  readonly state: string;
  readonly protocol: string;
  readonly issuer: string;
  readonly subject: string;
};

/** undefined if there is a browser and the program that manages its trusted roots. */
export const missingBrowser = (): string | undefined => missing('chromium') ?? missing('certutil');

/** A separate browser with its own trusted roots. Every name resolves to 127.0.0.1. */
export class Browser {
  readonly page: Page;
  private readonly process: Process;

  private constructor(process: Process, page: Page) {
    this.process = process;
    this.page = page;
  }

  /** `trusted`: roots in PEM, trusted in the way a user would do it on Debian. */
  static async start(folder: Folder, trusted: readonly string[]): Promise<Browser> {
    const home = folder.file('browser');
    const database = `${home}/.pki/nssdb`;
    mkdirSync(database, { recursive: true });
    const certutil = (...args: string[]): Buffer => execFileSync('certutil', ['-d', `sql:${database}`, ...args], { stdio: 'pipe' });
    certutil('-N', '--empty-password');
    for (const [at, root] of trusted.entries()) {
      const file = `${home}/root-${at}.pem`;
      writeFileSync(file, root);
      certutil('-A', '-t', 'C,,', '-n', `root-${at}`, '-i', file);
    }
    const started = await chromium.launch({
      executablePath: CHROMIUM,
      args: [...ARGUMENTS, '--host-resolver-rules=MAP * 127.0.0.1'],
      env: { ...process.env, HOME: home },
    });
    return new Browser(started, await visitorOf(started));
  }

  /** A page of another visitor, which shares neither storage nor cookies with the first. */
  newVisitor(): Promise<Page> {
    return visitorOf(this.process);
  }

  /** The security state that the address bar would show for the current page. */
  async padlock(): Promise<Padlock> {
    const session = await this.page.context().newCDPSession(this.page);
    const seen = new Promise<Padlock>((resolve) => {
      session.on('Security.visibleSecurityStateChanged', ({ visibleSecurityState: { securityState, certificateSecurityState: found } }) => {
        if (found !== undefined)
          resolve({ state: securityState, protocol: found.protocol, issuer: found.issuer, subject: found.subjectName });
      });
    });
    await session.send('Security.enable');
    const padlock = await seen;
    await session.detach();
    return padlock;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.process.close();
  }
}

async function visitorOf(browser: Process): Promise<Page> {
  const context = await browser.newContext();
  context.setDefaultTimeout(60_000);
  return await context.newPage();
}

/** The protocol of the page itself, as scripts see it: `h2`. */
export const pageProtocol = (page: Page): Promise<string> =>
  page.evaluate<string>("performance.getEntriesByType('navigation')[0].nextHopProtocol");
