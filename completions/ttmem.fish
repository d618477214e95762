# SPDX-License-Identifier: Apache-2.0
# fish completion for ttmemd and the tools: what bash completes. Installed once for each.

set -l program (basename (status filename) .fish)
set -g __ttmem_helper (dirname (status filename))/../../ttmem/complete.bash

function __ttmem_complete
    set -l found (bash $__ttmem_helper (commandline -opc) (commandline -ct | string collect))
    if test (count $found) -gt 0
        printf '%s\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end

complete -c $program -f -a '(__ttmem_complete)'
