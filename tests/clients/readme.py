"""Runs the Python and Node examples of README.md against the server at 127.0.0.1:PORT: `readme.py PORT`.

What an example prints must be what the comments behind its printing lines say.
"""

import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LANGUAGES = {"python": [sys.executable, "-c"], "js": ["node", "-e"]}


def main():
    port = sys.argv[1]
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
        blocks = re.findall(r"^```(python|js)\n(.*?)^```", file.read(), re.S | re.M)
    environment = dict(os.environ, NODE_PATH=os.path.join(os.environ["RANKD_NODE_PATH"], "node_modules"))
    passed = failed = 0
    for language, code in blocks:
        expected = re.findall(r"(?:print|console\.log)\(.*\S\s+(?:#|//) (.*)$", code, re.M)
        result = subprocess.run(
            LANGUAGES[language] + [code.replace("6379", port)], env=environment, text=True, timeout=60,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, check=False,
        )
        if expected and result.returncode == 0 and result.stdout.splitlines() == expected:
            passed += 1
        else:
            failed += 1
            print(f"   FAILED  the {language} example: expected {expected}, got\n{result.stdout}")
    print(f"examples of the README: {passed} passed, {failed} failed")
    sys.exit(1 if failed or passed < len(LANGUAGES) else 0)


main()
